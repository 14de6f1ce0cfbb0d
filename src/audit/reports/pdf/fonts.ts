/** Loads one of the files that src/dev/assets/fonts.mjs makes. */
export type LoadFont = (file: string) => Promise<ArrayBuffer>;

/** The font families. A character is shown in the first one that has it. */
export const FAMILIES = ['latin', 'han', 'hangul', 'arabic', 'hebrew'] as const;

export type Family = (typeof FAMILIES)[number];

interface FontFiles {
  normal: string;
  bold: string;
}

/** The files of each family. Only Latin has a bold font; the other scripts occur in names, which are not bold. */
const FILES: Record<Family, FontFiles> = {
  latin: { normal: 'latin-regular.ttf', bold: 'latin-bold.ttf' },
  han: { normal: 'han.otf', bold: 'han.otf' },
  hangul: { normal: 'hangul.otf', bold: 'hangul.otf' },
  arabic: { normal: 'arabic.ttf', bold: 'arabic.ttf' },
  hebrew: { normal: 'hebrew.ttf', bold: 'hebrew.ttf' },
};

/** Knows which characters each family has, without loading the fonts. */
export class Coverage {
  readonly #ranges: Record<string, number[]>;
  readonly #known = new Map<number, Family | null>();

  private constructor(ranges: Record<string, number[]>) {
    this.#ranges = ranges;
  }

  static async load(loadFont: LoadFont): Promise<Coverage> {
    const text = new TextDecoder().decode(await loadFont('coverage.json'));
    return new Coverage(JSON.parse(text) as Record<string, number[]>);
  }

  /** Whether all fonts of a family have a character. */
  has(family: Family, character: number): boolean {
    return Object.values(FILES[family]).every((file) => includes(this.#ranges[file] ?? [], character));
  }

  /** The first family that has a character; null if none has it. */
  familyOf(character: number): Family | null {
    let family = this.#known.get(character);
    if (family === undefined) {
      family = FAMILIES.find((one) => this.has(one, character)) ?? null;
      this.#known.set(character, family);
    }
    return family;
  }
}

/** Whether a character is in one of the ranges. `bounds` has the first and the last character of each range in turn. */
function includes(bounds: number[], character: number): boolean {
  let [low, high] = [0, bounds.length / 2 - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (character < (bounds[middle * 2] ?? 0)) high = middle - 1;
    else if (character > (bounds[middle * 2 + 1] ?? 0)) low = middle + 1;
    else return true;
  }
  return false;
}

/** Loads the fonts of some families. Returns the files, and pdfmake's dictionary of which file each family uses. */
export async function loadFamilies(
  families: Iterable<Family>,
  loadFont: LoadFont,
): Promise<{ dictionary: Record<string, FontFiles>; files: Map<string, Uint8Array> }> {
  const dictionary: Record<string, FontFiles> = {};
  const files = new Map<string, Uint8Array>();
  for (const family of families) {
    dictionary[family] = { ...FILES[family] };
    for (const file of Object.values(FILES[family])) {
      if (!files.has(file)) files.set(file, new Uint8Array(await loadFont(file)));
    }
  }
  return { dictionary, files };
}
