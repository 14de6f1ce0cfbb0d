import type { ExportedEntry } from './source';

/** What the proof of an export needs to know of an exported entry. */
export interface EntryNote {
  sequence: number;
  /** In hexadecimal. */
  salt: string;
}

const SALT_LENGTH = 16;
const NOTE_LENGTH = 4 + SALT_LENGTH;

/** Collects notes of entries until their bytes are in the file. A note takes 20 bytes, since a slice has many. */
export class NoteTaker {
  private bytes = new Uint8Array(0);
  private count = 0;

  add(entries: readonly ExportedEntry[]): void {
    this.makeRoom(this.count + entries.length);
    const view = new DataView(this.bytes.buffer);
    for (const { sequence, salt } of entries) {
      const start = this.count * NOTE_LENGTH;
      view.setUint32(start, sequence);
      this.bytes.set(Uint8Array.fromHex(salt), start + NOTE_LENGTH - SALT_LENGTH);
      this.count += 1;
    }
  }

  /** Takes the notes of entries before a sequence, in the form that {@link readNotes} reads. */
  take(before: number): Uint8Array {
    const view = new DataView(this.bytes.buffer);
    let taken = this.count;
    while (taken > 0 && view.getUint32((taken - 1) * NOTE_LENGTH) >= before) taken -= 1;
    const notes = this.bytes.slice(0, taken * NOTE_LENGTH);
    this.bytes.copyWithin(0, taken * NOTE_LENGTH, this.count * NOTE_LENGTH);
    this.count -= taken;
    return notes;
  }

  private makeRoom(count: number): void {
    const needed = count * NOTE_LENGTH;
    if (needed <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, 2 * this.bytes.length));
    larger.set(this.bytes);
    this.bytes = larger;
  }
}

/** Parses what {@link NoteTaker.take} returned. */
export function readNotes(bytes: Uint8Array): EntryNote[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: bytes.length / NOTE_LENGTH }, (_, i) => {
    const end = (i + 1) * NOTE_LENGTH;
    return { sequence: view.getUint32(i * NOTE_LENGTH), salt: bytes.subarray(end - SALT_LENGTH, end).toHex() };
  });
}
