/** A range of a file, in bytes. */
export interface ByteRange {
  offset: number;
  length: number;
}

/**
 * Reads a `Range` header (RFC 9110 section 14.1.2).
 * @param size the size of the file in bytes
 * @returns null if the whole file is to be sent: there is no header, or it is malformed, has
 *   another unit or several ranges; `unsatisfiable` if the file has none of the requested bytes
 */
export function parseRange(
  header: string | undefined,
  size: number,
): ByteRange | 'unsatisfiable' | null {
  const match = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '');
  if (!match) return null;
  const [first = '', last = ''] = match.slice(1);
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { offset: size - length, length };
  }
  const offset = Number(first);
  if (last !== '' && Number(last) < offset) return null;
  if (offset >= size) return 'unsatisfiable';
  const end = last === '' ? size : Math.min(Number(last) + 1, size);
  return { offset, length: end - offset };
}
