/**
 * Replaces modules that the PDF library imports and no report needs (`alias` in wrangler.toml),
 * because they would slow down every start: `brotli/decompress.js`, whose dictionary takes half a
 * megabyte (the fonts are decompressed when the assets are built), and `png-js` (reports contain no
 * pictures).
 */
export default function leftOut(): never {
  throw new Error('this module is left out of the deployed service');
}
