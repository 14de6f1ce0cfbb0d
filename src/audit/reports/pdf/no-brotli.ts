/**
 * Stands for the decompressor of `brotli/decompress.js` in what is deployed (`alias` in wrangler.toml): the fonts that
 * were packed as WOFF2 are unpacked when the assets are made, and its dictionary takes half a megabyte at every start.
 */
export default function decompress(): never {
  throw new Error('fonts are not packed');
}
