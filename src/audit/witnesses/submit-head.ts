import type { Runtime } from '../../env';
import { consistencyPath } from '../../lib/merkle';
import { readAnswer } from '../../lib/read-answer';
import { hashRanges } from '../../lib/tiles';
import { SECOND } from '../../lib/time';
import { untilAborted } from '../../lib/until-aborted';
import type { Witness } from '../../lib/witness-list';
import type { Tree } from '../tree/open-tree';
import { findCosignature } from './cosignature';

const TIMEOUT = 10 * SECOND;
const MAX_ANSWER_BYTES = 16 * 1024;
const SIZE_TYPE = 'text/x.tlog.size';

/** A witness refuses a head: it has cosigned one that this log does not contain. */
export class HeadRefused extends Error {}

/**
 * Has a witness cosign a head (https://c2sp.org/tlog-witness, "add-checkpoint"). If the witness has
 * cosigned another size before, sends the head once more, with a proof from that size.
 * @param tree the head, and the tiles of a tree that begins with it
 * @param before the size that the witness is expected to have cosigned last
 * @returns the signature line
 * @throws HeadRefused if the witness has cosigned a larger size, or says that the log has not only
 *   grown; Error if it does not answer, or answers anything else
 */
export async function submitHead(
  runtime: Runtime,
  witness: Witness,
  tree: Pick<Tree, 'head' | 'read'>,
  before: number,
): Promise<string> {
  const { size, note } = tree.head;
  let answer = await send(runtime, witness, await writeRequest(tree, before));
  if (answer.status === 409) {
    const known = readSize(answer);
    if (known > size) throw new HeadRefused(`it has cosigned a larger size, ${known}`);
    answer = await send(runtime, witness, await writeRequest(tree, known));
  }
  if (answer.status === 422) throw new HeadRefused('it says that the log has not only grown');
  if (answer.status !== 200) throw new Error(`it answered ${answer.status}`);
  return findCosignature(witness, note, answer.text, runtime.now());
}

/** Writes the body of the request: the old size, the proof from there, and the head. */
async function writeRequest({ head, read }: Pick<Tree, 'head' | 'read'>, old: number) {
  const path = old === 0 ? [] : await hashRanges(consistencyPath(old, head.size), read);
  const lines = [`old ${old}`, ...path.map((hash) => hash.toBase64()), ''];
  return `${lines.join('\n')}\n${head.note}`;
}

interface Answer {
  status: number;
  type: string | null;
  text: string;
}

async function send(runtime: Runtime, { url }: Witness, body: string): Promise<Answer> {
  const signal = runtime.timeout(TIMEOUT);
  const request = { method: 'POST', body, redirect: 'manual' as const, signal };
  const response = await untilAborted(signal, runtime.fetch(`${url}/add-checkpoint`, request));
  return {
    status: response.status,
    type: response.headers.get('Content-Type'),
    text: await readAnswer(signal, response, MAX_ANSWER_BYTES),
  };
}

/** The size that a witness has cosigned last, from its answer 409. */
function readSize({ type, text }: Answer): number {
  const [, size] = /^(0|[1-9]\d{0,14})\n$/.exec(text) ?? [];
  if (size === undefined || type?.split(';')[0]?.trim() !== SIZE_TYPE)
    throw new Error('it answered 409 without the size that it cosigned');
  return Number(size);
}
