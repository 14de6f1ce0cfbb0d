declare module 'fontkit' {
  export function create(file: Uint8Array): { characterSet: number[]; copyright: string };
}

declare module 'wawoff2/decompress.js' {
  export default function decompress(file: Uint8Array): Promise<Uint8Array>;
}
