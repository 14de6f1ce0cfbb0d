import type { Json } from '../lib/json';

/** Where work on a file goes on after a slice. */
export interface SavedState {
  /** What is being made: the file itself, or afterwards its proof. */
  document: 'file' | 'proof';
  /** The file, once all of it is made. */
  file: { rows: number; size: number; sha256: string } | null;
  /** The objects that hold what was noted for the proof, in order. */
  notes: string[];
  /** Of the maker: where it stands. Null once the last byte is made. */
  maker: Json;
  /** Whether all bytes are made and uploaded. */
  ended: boolean;
  rows: number;
  /** The parts of the upload so far, in order, by their ETags; all but the last are of one size. */
  parts: string[];
  /** Size of all parts together, in bytes. */
  uploaded: number;
  /** How often the file was begun anew. */
  restarts: number;
}

/** Where work on a file begins, for the first time or after so many restarts. */
export function initialState(restarts = 0): SavedState {
  return { document: 'file', file: null, notes: [], ...nothingYet(restarts) };
}

/** Where work on the proof of a finished file begins. */
export function initialProof(file: SavedState['file'], notes: string[], restarts = 0): SavedState {
  return { document: 'proof', file, notes, ...nothingYet(restarts) };
}

function nothingYet(restarts: number) {
  return { maker: null, ended: false, rows: 0, parts: [], uploaded: 0, restarts };
}

const HEAD_LENGTH = 4;

/** Writes a state and the bytes that no part holds yet as one object. */
export function writeState(state: SavedState, rest: Uint8Array): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(state));
  const bytes = new Uint8Array(HEAD_LENGTH + json.length + rest.length);
  new DataView(bytes.buffer).setUint32(0, json.length);
  bytes.set(json, HEAD_LENGTH);
  bytes.set(rest, HEAD_LENGTH + json.length);
  return bytes;
}

/** Reads what {@link writeState} wrote. */
export function readState(bytes: Uint8Array): { state: SavedState; rest: Uint8Array } {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const json = bytes.subarray(HEAD_LENGTH, HEAD_LENGTH + length);
  return { state: JSON.parse(new TextDecoder().decode(json)) as SavedState, rest: bytes.slice(HEAD_LENGTH + length) };
}
