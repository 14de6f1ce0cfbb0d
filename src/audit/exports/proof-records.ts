import type { ExportedEntry } from './source';

/** The part of an exported entry that the proof of the export needs. */
export interface ProofRecord {
  sequence: number;
  /** In hexadecimal. */
  salt: string;
}

const SALT_LENGTH = 16;
const RECORD_LENGTH = 4 + SALT_LENGTH;

/**
 * Collects the proof records of entries until the entries are in the file. A record is packed into
 * 20 bytes.
 */
export class ProofRecordBuffer {
  private bytes = new Uint8Array(0);
  private count = 0;

  add(entries: readonly ExportedEntry[]): void {
    this.makeRoom(this.count + entries.length);
    const view = new DataView(this.bytes.buffer);
    for (const { sequence, salt } of entries) {
      const start = this.count * RECORD_LENGTH;
      view.setUint32(start, sequence);
      this.bytes.set(Uint8Array.fromHex(salt), start + RECORD_LENGTH - SALT_LENGTH);
      this.count += 1;
    }
  }

  /**
   * Takes the proof records of entries before a sequence, in the form that {@link readProofRecords}
   * reads.
   */
  take(before: number): Uint8Array {
    const view = new DataView(this.bytes.buffer);
    let taken = this.count;
    while (taken > 0 && view.getUint32((taken - 1) * RECORD_LENGTH) >= before) taken -= 1;
    const records = this.bytes.slice(0, taken * RECORD_LENGTH);
    this.bytes.copyWithin(0, taken * RECORD_LENGTH, this.count * RECORD_LENGTH);
    this.count -= taken;
    return records;
  }

  private makeRoom(count: number): void {
    const needed = count * RECORD_LENGTH;
    if (needed <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, 2 * this.bytes.length));
    larger.set(this.bytes);
    this.bytes = larger;
  }
}

/** Parses what {@link ProofRecordBuffer.take} returned. */
export function readProofRecords(bytes: Uint8Array): ProofRecord[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: bytes.length / RECORD_LENGTH }, (_, i) => {
    const end = (i + 1) * RECORD_LENGTH;
    return {
      sequence: view.getUint32(i * RECORD_LENGTH),
      salt: bytes.subarray(end - SALT_LENGTH, end).toHex(),
    };
  });
}
