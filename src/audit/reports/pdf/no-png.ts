/**
 * Stands for the decoder of `png-js` in what is deployed (`alias` in wrangler.toml): reports have no such pictures, and
 * what it needs would be read at every start.
 */
export default function decode(): never {
  throw new Error('reports have no PNG');
}
