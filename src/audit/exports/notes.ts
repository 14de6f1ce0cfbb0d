import type { ExportedEntry } from './source';

/** What the proof of an export has to know of an entry. */
export interface Note {
  sequence: number;
  /** In hexadecimal. */
  salt: string;
}

const SALT_LENGTH = 16;
const NOTE_LENGTH = 4 + SALT_LENGTH;

/** Keeps notes of entries until they are in the bytes of the file. */
export class NoteTaker {
  private notes: Pick<ExportedEntry, 'pos' | 'sequence' | 'salt'>[] = [];

  add(entries: readonly ExportedEntry[]): void {
    for (const entry of entries) this.notes.push(entry);
  }

  /** Gives the notes of entries before a position, as {@link readNotes} reads them. */
  take(before: number): Uint8Array {
    const count = this.notes.findIndex(({ pos }) => pos >= before);
    const taken = this.notes.splice(0, count < 0 ? this.notes.length : count);
    const bytes = new Uint8Array(taken.length * NOTE_LENGTH);
    const view = new DataView(bytes.buffer);
    for (const [i, { sequence, salt }] of taken.entries()) {
      view.setUint32(i * NOTE_LENGTH, sequence);
      bytes.set(Uint8Array.fromHex(salt), i * NOTE_LENGTH + NOTE_LENGTH - SALT_LENGTH);
    }
    return bytes;
  }
}

/** Reads notes that were taken. */
export function readNotes(bytes: Uint8Array): Note[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: bytes.length / NOTE_LENGTH }, (_, i) => {
    const end = (i + 1) * NOTE_LENGTH;
    return { sequence: view.getUint32(i * NOTE_LENGTH), salt: bytes.subarray(end - SALT_LENGTH, end).toHex() };
  });
}
