/** Loads one of the files that src/tools/assets/fonts.mjs makes. */
export type LoadFont = (file: string) => Promise<ArrayBuffer>;

/**
 * The files of each font family. A character is shown in the first family that has it. Only Latin
 * has a bold font; the other scripts occur in names, and their bold text is shown in the normal
 * font.
 */
const FILES = {
  latin: { normal: 'latin-regular.ttf', bold: 'latin-bold.ttf' },
  han: { normal: 'han.otf', bold: 'han.otf' },
  hangul: { normal: 'hangul.otf', bold: 'hangul.otf' },
  arabic: { normal: 'arabic.ttf', bold: 'arabic.ttf' },
  hebrew: { normal: 'hebrew.ttf', bold: 'hebrew.ttf' },
  thai: { normal: 'thai.ttf', bold: 'thai.ttf' },
  bengali: { normal: 'bengali.ttf', bold: 'bengali.ttf' },
  tamil: { normal: 'tamil.ttf', bold: 'tamil.ttf' },
  georgian: { normal: 'georgian.ttf', bold: 'georgian.ttf' },
  armenian: { normal: 'armenian.ttf', bold: 'armenian.ttf' },
};

export type FontFamily = keyof typeof FILES;

const FAMILIES = Object.keys(FILES) as FontFamily[];

/** Knows which characters each family has, without loading the fonts. */
export class FontCoverage {
  private readonly known = new Map<number, FontFamily | null>();

  /**
   * @param ranges the first and the last code point of each range of characters in turn, by font
   *   file
   */
  private constructor(private readonly ranges: Record<string, number[]>) {}

  static async load(loadFont: LoadFont): Promise<FontCoverage> {
    const text = new TextDecoder().decode(await loadFont('coverage.json'));
    return new FontCoverage(JSON.parse(text));
  }

  /** Whether all fonts of a family have the character with this code point. */
  has(family: FontFamily, codePoint: number): boolean {
    const ranges = Object.values(FILES[family]).map((file) => this.ranges[file] ?? []);
    return ranges.every((bounds) => includes(bounds, codePoint));
  }

  /** The first family that has the character with this code point; null if none has it. */
  familyOf(codePoint: number): FontFamily | null {
    let family = this.known.get(codePoint);
    if (family === undefined) {
      family = FAMILIES.find((one) => this.has(one, codePoint)) ?? null;
      this.known.set(codePoint, family);
    }
    return family;
  }
}

function includes(bounds: number[], codePoint: number): boolean {
  let low = 0;
  let high = bounds.length / 2 - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (codePoint < (bounds[middle * 2] ?? 0)) high = middle - 1;
    else if (codePoint > (bounds[middle * 2 + 1] ?? 0)) low = middle + 1;
    else return true;
  }
  return false;
}

/**
 * Loads the fonts of some families, each file once.
 * @returns pdfmake's dictionary, which names the files of each family, and the contents of the
 *   files
 */
export async function loadFonts(families: Iterable<FontFamily>, loadFont: LoadFont) {
  const dictionary: Record<string, (typeof FILES)[FontFamily]> = {};
  const files = new Map<string, Uint8Array>();
  for (const family of families) {
    dictionary[family] = FILES[family];
    for (const file of new Set(Object.values(FILES[family])))
      files.set(file, new Uint8Array(await loadFont(file)));
  }
  return { dictionary, files };
}
