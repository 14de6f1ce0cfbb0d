declare module 'bidi-js' {
  interface Levels {
    levels: Uint8Array;
  }

  interface Bidi {
    getEmbeddingLevels(text: string, base: 'ltr' | 'rtl'): Levels;
    getReorderedIndices(text: string, levels: Levels): number[];
    getMirroredCharactersMap(text: string, levels: Uint8Array): Map<number, string>;
  }

  export default function makeBidi(): Bidi;
}
