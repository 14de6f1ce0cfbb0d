/** What Workers have of Node's zlib and exports need. */
declare module 'node:zlib' {
  export function zstdCompressSync(input: Uint8Array): Uint8Array;
}
