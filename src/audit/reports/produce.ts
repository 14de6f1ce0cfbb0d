import { fileId } from '../../files/file';
import type { FileProducerFactory, Producer, ProducerInput } from '../../files/producer';
import { toHex } from '../../lib/bytes';
import type { Json } from '../../lib/json';
import { hashRanges } from '../../lib/tiles';
import { logStart } from '../entry';
import { type FileAccount, findFileRange, type PositionRange } from '../find-file-range';
import { openSealedTree, type Tree } from '../tree/open-tree';
import type { SealingContext } from '../tree/seal';
import { composeReport } from './compose';
import type { LogTree, ReportContent } from './content';
import { EntryCounter } from './count-entries';
import { drawSample } from './draw-sample';
import { emptyFigures, type Figures } from './figures';
import { gatherFacts, type PeriodFacts } from './gather-facts';
import { type Configuration, readActivity, readConfiguration } from './read-account';
import { coverageEnd, reportRequest } from './report';

/**
 * How many batches of entries one slice counts. It can be several, as the database returns one row for many entries.
 */
const SLICE_BATCHES = 4;

/** The state that is saved between slices. */
interface SavedState {
  owner: FileAccount;
  /** All positions of the log that the report covers. */
  span: PositionRange;
  /** The first position that is not counted yet. */
  reached: number;
  figures: Figures;
  integrity: LogTree | null;
}

/**
 * Makes the files of compliance reports, in these steps: find the entries and the log's sealed tree, count the entries
 * in slices, read the account, gather the facts, draw the sample, compose the content, and write it as JSON or PDF.
 */
export function reportProducers(sealing: SealingContext, now: () => number): FileProducerFactory {
  return {
    async open(order, saved) {
      const state = saved === null ? await startReport(sealing, now, order) : (saved as unknown as SavedState);
      if (state === 'later') return state;
      return new ReportProduction(order, state, await readConfiguration(order.reader, order.file));
    },
  };
}

async function startReport(
  sealing: SealingContext,
  now: () => number,
  { reader, file }: ProducerInput,
): Promise<SavedState | 'later'> {
  const { span, owner } = await findFileRange(reader, file, reportRequest(file));
  const tree = await openSealedTree(sealing, { number: file.account, id: owner.id }, file.snapshot, now);
  if (tree === 'later') return tree;
  const integrity = tree === 'inconsistent' ? null : await describeTree(tree, file.snapshot);
  return { owner, span, reached: span.low, figures: emptyFigures(), integrity };
}

async function describeTree({ read }: Tree, size: number): Promise<LogTree> {
  const [root] = await hashRanges([{ start: 0, end: size }], read);
  return { tree_size: size, root_hash: toHex(root as Uint8Array) };
}

class ReportProduction implements Producer {
  private readonly counter: EntryCounter;

  constructor(
    private readonly order: ProducerInput,
    private readonly state: SavedState,
    private readonly configuration: Configuration,
  ) {
    const known = new Set(configuration.agents.map(({ number }) => number));
    this.counter = new EntryCounter(order.reader, state.span, (agent) => known.has(agent));
  }

  get rows(): number {
    return this.state.figures.events.reduce((sum, entries) => sum + entries, 0);
  }

  get reached(): number {
    return this.state.reached;
  }

  /** Counts one slice; once all entries are counted, makes the whole file. */
  async next(): Promise<{ chunks: Uint8Array[]; ended: boolean }> {
    const { state, order } = this;
    if (state.reached >= state.span.high) return { chunks: [await this.makeFile()], ended: true };
    state.reached = await this.counter.addSlice(state.figures, state.reached, order.batchRows * SLICE_BATCHES);
    return { chunks: [], ended: false };
  }

  save(): Json {
    return this.state as unknown as Json;
  }

  private async makeFile(): Promise<Uint8Array> {
    const { reader, file } = this.order;
    const { owner, span, integrity } = this.state;
    const facts = await this.gatherFacts();
    const sample = await drawSample(reader, { number: file.account, id: owner.id }, span, fileId(file));
    return this.write(composeReport(file, owner, integrity, facts, sample));
  }

  private async gatherFacts(): Promise<PeriodFacts> {
    const { reader, file } = this.order;
    const { span, figures } = this.state;
    const { period, from, to } = reportRequest(file);
    const isOver = to <= file.createdAt;
    return gatherFacts(reader, {
      period: { ...period, from },
      until: Math.min(to, file.createdAt),
      asOf: isOver ? `at the end of ${period.end}` : `when the report was asked for, on ${period.end}`,
      isCovered: file.keptFrom < to,
      figures,
      configuration: this.configuration,
      activity: await readActivity(reader, file.account, {
        from: Math.max(from, file.keptFrom),
        to: coverageEnd(file),
      }),
      requestedAt: file.createdAt,
      logStart: logStart({ number: file.account }),
      span,
    });
  }

  private async write(report: ReportContent): Promise<Uint8Array> {
    const { file, loadAsset } = this.order;
    if (file.format === 'json') return new TextEncoder().encode(`${JSON.stringify(report)}\n`);
    // Imported here so that requests do not wait for the PDF library to load.
    const { renderPdf } = await import('./pdf/render');
    return renderPdf(report, (font) => loadAsset(`/fonts/${font}`));
  }
}
