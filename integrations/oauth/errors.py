"""The error codes of the OAuth standards. Only these are written into logs and texts."""

from __future__ import annotations

from collections.abc import Mapping

ERRORS_BY_STANDARD: Mapping[str, tuple[str, ...]] = {
    "RFC 6749 section 4.1.2.1": (
        *("invalid_request", "unauthorized_client", "access_denied", "unsupported_response_type", "invalid_scope"),
        *("server_error", "temporarily_unavailable"),
    ),
    "RFC 6749 section 5.2": ("invalid_client", "invalid_grant", "unsupported_grant_type"),
    "RFC 6750": ("invalid_token", "insufficient_scope"),
    "RFC 7009": ("unsupported_token_type",),
    "RFC 7591": (
        *("invalid_redirect_uri", "invalid_client_metadata", "invalid_software_statement"),
        "unapproved_software_statement",
    ),
    "RFC 8628": ("authorization_pending", "slow_down", "expired_token"),
    "RFC 8707": ("invalid_target",),
    "RFC 9396": ("invalid_authorization_details",),
    "RFC 9449": ("invalid_dpop_proof", "use_dpop_nonce"),
    "RFC 9470": ("insufficient_user_authentication",),
    "OpenID Connect Core": (
        *("interaction_required", "login_required", "account_selection_required", "consent_required"),
        *("invalid_request_uri", "invalid_request_object", "request_not_supported", "request_uri_not_supported"),
        "registration_not_supported",
    ),
}
STANDARD_ERRORS = frozenset(error for errors in ERRORS_BY_STANDARD.values() for error in errors)
