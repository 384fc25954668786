// Loaded before a server that would listen on every address: it listens on 127.0.0.1 alone.
const { Server } = require("node:net");

const listen = Server.prototype.listen;

Server.prototype.listen = function onLoopback(where, ...rest) {
  const options = typeof where === "object" ? where : { port: Number(where) };
  const callbacks = rest.filter((each) => typeof each === "function");
  return listen.call(this, { ...options, host: "127.0.0.1" }, ...callbacks);
};
