// Replaces the Node module (`alias` in wrangler.toml), so that it is loaded on first use instead of at every start.
module.exports = process.getBuiltinModule('node:stream');
