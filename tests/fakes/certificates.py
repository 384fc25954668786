"""A certificate authority for tests, and the TLS contexts of servers with its certificates."""

from __future__ import annotations

import datetime as dt
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LONG_AGO, FAR_AHEAD = dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2120, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Authority:
    folder: Path
    common_name: str = "An authority of tests"
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def name(self) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.common_name)])

    def trusted(self) -> ssl.SSLContext:
        """The context of a client that trusts this authority alone."""
        own = (
            _builder(self.name, self.key, LONG_AGO, FAR_AHEAD)
            .issuer_name(self.name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=own.public_bytes(serialization.Encoding.PEM).decode())
        return context

    def serving(self, host: str, begins: dt.datetime = LONG_AGO, ends: dt.datetime = FAR_AHEAD) -> ssl.SSLContext:
        """The context of a server with a certificate of this authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate(host, begins, ends))
        return context

    def certificate(self, host: str, begins: dt.datetime = LONG_AGO, ends: dt.datetime = FAR_AHEAD) -> Path:
        """A file of a certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        signed = (
            _builder(subject, key, begins, ends)
            .issuer_name(self.name)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        file = self.folder / f"{signed.serial_number:x}.pem"
        file.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + _private(key))
        return file


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, begins: dt.datetime, ends: dt.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
    )


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
