/** The part of Node's zlib in Workers that exports use. */
declare module 'node:zlib' {
  export function zstdCompressSync(input: Uint8Array): Uint8Array;
}
