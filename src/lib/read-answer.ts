import { untilAborted } from './until-aborted';

/** Reads the body of an answer as text, to its end or until it has some number of bytes. */
export async function readAnswer(
  signal: AbortSignal,
  response: Response,
  maxBytes: number,
): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return '';
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (let size = 0; size < maxBytes; ) {
      const { done, value } = await untilAborted(signal, reader.read());
      if (done) break;
      size += value.byteLength;
      text += decoder.decode(value, { stream: true });
    }
    return text;
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
