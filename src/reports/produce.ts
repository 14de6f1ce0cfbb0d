import { type FileAccount, findFileRange, type PositionRange } from '../audit/find-file-range';
import { openSealedTree } from '../audit/tree/open-tree';
import type { SealingContext } from '../audit/tree/seal';
import { publicFileId } from '../files/file';
import type { FileProducerFactory, Producer, ProducerInput } from '../files/producer';
import { toHex } from '../lib/bytes';
import { hashRanges } from '../lib/tiles';
import { composeReport } from './compose';
import type { LogTree } from './content';
import { drawSample } from './draw-sample';
import { addGroup, emptyFigures, type Figures } from './figures';
import { gatherFacts } from './gather-facts';
import { groupEntries } from './group-entries';
import { type AccountConfiguration, readConfiguration } from './read-account';
import { reportRequest } from './report';

/**
 * How many entries are read for each row that may come back. The database returns one row for a
 * group of entries.
 */
const ENTRIES_PER_ROW = 4;

/**
 * The state that {@link Producer.save} returns. Jobs in progress have it stored, so its fields keep
 * their names.
 */
interface SavedState {
  /** The account of the report, not a member. */
  owner: FileAccount;
  /** All positions of the log that the report covers. */
  span: PositionRange;
  /** The first position that is not counted yet. */
  reached: number;
  figures: Figures;
  integrity: LogTree | null;
}

/**
 * The producers of compliance reports. They seal the log and find the entries of the period, count
 * these in batches, gather the facts, draw the sample, compose the content, and write it as JSON or
 * PDF.
 */
export function reportProducerFactory(
  sealing: SealingContext,
  now: () => number,
): FileProducerFactory<SavedState> {
  return {
    async open(input, saved) {
      const state = saved ?? (await startReport(sealing, now, input));
      if (state === 'later') return state;
      return new ReportProducer(input, state, await readConfiguration(input.reader, input.file));
    },
  };
}

async function startReport(
  sealing: SealingContext,
  now: () => number,
  { reader, file }: ProducerInput,
): Promise<SavedState | 'later'> {
  const { span, account } = await findFileRange(reader, file, reportRequest(file));
  const tree = await openSealedTree(
    sealing,
    { number: file.account, id: account.id },
    file.snapshot,
    now,
  );
  if (tree === 'later') return tree;
  let integrity: LogTree | null = null;
  if (tree !== 'inconsistent') {
    const [root] = await hashRanges([{ start: 0, end: file.snapshot }], tree.read);
    integrity = { tree_size: file.snapshot, root_hash: toHex(root as Uint8Array) };
  }
  return { owner: account, span, reached: span.low, figures: emptyFigures(), integrity };
}

class ReportProducer implements Producer {
  /** The entries counted since this producer was opened. */
  rows = 0;
  /** The owner of each agent that exists, by the agent's number. */
  private readonly owners: Map<number, string | null>;

  constructor(
    private readonly input: ProducerInput,
    private readonly state: SavedState,
    private readonly configuration: AccountConfiguration,
  ) {
    this.owners = new Map(configuration.agents.map(({ number, owner }) => [number, owner]));
  }

  get reached(): number {
    return this.state.reached;
  }

  /** Counts one batch of entries; once all are counted, makes the whole file. */
  async next(): Promise<{ chunks: Uint8Array[]; ended: boolean }> {
    const { state, input } = this;
    const { span, figures, reached } = state;
    if (reached >= span.high) return { chunks: [await this.makeFile()], ended: true };
    const limit = input.batchRows * ENTRIES_PER_ROW;
    const { groups, next } = await groupEntries(input.reader, span, reached, {
      limit,
      now: input.file.createdAt,
    });
    // Entries of deleted agents are not counted.
    for (const group of groups) {
      const owner = this.owners.get(group.agent);
      if (owner === undefined) continue;
      addGroup(figures, group, owner);
      this.rows += group.entries;
    }
    state.reached = next;
    return { chunks: [], ended: false };
  }

  save(): SavedState {
    return this.state;
  }

  private async makeFile(): Promise<Uint8Array> {
    const { reader, file, loadAsset } = this.input;
    const { owner: account, span, figures, integrity } = this.state;
    const facts = await gatherFacts(reader, file, span, figures, this.configuration);
    const sample = await drawSample(
      reader,
      { number: file.account, id: account.id },
      span,
      publicFileId(file),
    );
    const report = composeReport(file, account, integrity, facts, sample);
    if (file.format === 'json') return new TextEncoder().encode(`${JSON.stringify(report)}\n`);
    // Imported here so that requests do not wait for the PDF library to load.
    const { renderPdf } = await import('./pdf/render');
    return renderPdf(report, (font) => loadAsset(`/fonts/${font}`));
  }
}
