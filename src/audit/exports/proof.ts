import { eq } from 'drizzle-orm';
import { accounts } from '../../db/schema';
import { publicFileId } from '../../files/file';
import type {
  Producer,
  ProducerInput,
  ProofProducerFactory,
  ProvableFile,
} from '../../files/producer';
import { toHex } from '../../lib/bytes';
import { TreeFrontier } from '../../lib/tiles';
import type { Id } from '../../lib/typeid';
import { parseHead, presentHead, type SignedHead } from '../tree/checkpoint';
import { openSealedTree } from '../tree/open-tree';
import type { SealingContext } from '../tree/seal';
import { tileReader } from '../tree/storage';
import { exportFilters, exportRequest, getsProof } from './export';
import { type ErasuresProgress, ProofErasures } from './proof-erasures';
import { type LeavesProgress, ProofLeaves } from './proof-leaves';

/** How far a proof is, and the tree that it is made from. */
interface Saved {
  account: Id<'user'>;
  /** The signed note of the tree's head. */
  head: string;
  frontier: string;
  erasures: ErasuresProgress;
  leaves: LeavesProgress;
}

/**
 * Makes the factory of the producers that write the proofs of exports. The first producer of a
 * proof seals the log up to the last entry that the export could read. None is opened if the log is
 * inconsistent with its signed heads.
 */
export function proofProducerFactory(
  sealing: SealingContext,
  now: () => number,
): ProofProducerFactory<Saved> {
  return {
    isWanted: getsProof,
    async open(input, file, saved) {
      const state = saved ?? (await initialState(sealing, now, input));
      if (state === null || state === 'later') return state;
      return new ProofProducer(sealing, input, file, state);
    },
  };
}

async function initialState(
  sealing: SealingContext,
  now: () => number,
  { reader, file }: ProducerInput,
): Promise<Saved | 'later' | null> {
  const [[account]] = await reader.load([
    reader.select({ id: accounts.id }).from(accounts).where(eq(accounts.number, file.account)),
  ]);
  if (!account) throw new Error('the account of a file is gone');
  const tree = await openSealedTree(
    sealing,
    { number: file.account, id: account.id },
    file.snapshot,
    now,
  );
  if (tree === 'later') return tree;
  if (tree === 'inconsistent') return null;
  return {
    account: account.id,
    head: tree.head.note,
    frontier: toHex(tree.frontier),
    erasures: { hidden: 0, erasure: 0, hasRecords: false },
    leaves: { leaf: 0, record: [0, 0] },
  };
}

/**
 * Writes the proof of an export: the request and the signed head, then the erasures, then the
 * leaves of the tree.
 */
class ProofProducer implements Producer {
  private readonly head: SignedHead;
  private readonly erasures: ProofErasures;
  private readonly leaves: ProofLeaves;

  constructor(
    { bucket, signer }: SealingContext,
    private readonly input: ProducerInput,
    private readonly file: ProvableFile,
    private readonly state: Saved,
  ) {
    const head = parseHead(state.account, state.head);
    if (!head) throw new Error('the saved state of a proof has no head of its log');
    this.head = head;
    const frontier = TreeFrontier.parse(head.size, Uint8Array.fromHex(state.frontier));
    const read = tileReader(bucket, state.account, frontier);
    this.erasures = new ProofErasures(signer, input, head, state.erasures);
    this.leaves = new ProofLeaves(read, head.size, file, input.batchRows, state.leaves);
  }

  get rows(): number {
    return this.leaves.lines;
  }

  get reached(): number {
    return this.state.leaves.leaf;
  }

  async next(): Promise<{ chunks: Uint8Array[]; ended: boolean }> {
    const { text, ended } = await this.nextText();
    return { chunks: [new TextEncoder().encode(text)], ended };
  }

  save(): Saved {
    return { ...this.state };
  }

  private async nextText(): Promise<{ text: string; ended: boolean }> {
    const { erasures, leaves } = this;
    if (erasures.isDone) {
      const { text, ended } = await leaves.next();
      if (!ended) return { text, ended };
      return { text: `${text}\n]}\n`, ended };
    }
    let text = '';
    if (erasures.isFirst) text += this.describe();
    text += await erasures.next();
    if (erasures.isDone) text += '],\n"tree":[';
    return { text, ended: false };
  }

  /** The JSON before the first erasure. */
  private describe(): string {
    const { file } = this.input;
    const asked = exportRequest(file);
    const { start_date, end_date } = asked;
    const members = {
      version: 1,
      export_id: publicFileId(file),
      format: file.format,
      sha256: this.file.sha256,
      row_count: this.file.rows,
      request: { start_date, end_date, ...exportFilters(asked) },
      checkpoint: presentHead(this.head),
    };
    const lines = Object.entries(members).map(
      ([name, value]) => `"${name}":${JSON.stringify(value)},\n`,
    );
    return `{${lines.join('')}"erased":[`;
  }
}
