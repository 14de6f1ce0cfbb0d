// Stands for Node's module (`alias` in wrangler.toml), which is loaded by whoever asks for it, not at every start.
module.exports = process.getBuiltinModule('node:fs');
