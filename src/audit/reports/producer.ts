import { fileId } from '../../files/file';
import type { FileOrder, FileProducer, ProducerInput } from '../../files/producer';
import { toHex } from '../../lib/bytes';
import type { Json } from '../../lib/json';
import { hashRanges } from '../../lib/tiles';
import { logStart } from '../entry';
import { type FileAccount, findFileRange, type PositionRange } from '../find-file-range';
import type { SealingContext } from '../tree/seal';
import { sealedTree, type Tree } from '../tree/tree';
import { readChanges } from './changes';
import { composeReport } from './compose';
import { type Configuration, readConfiguration } from './configuration';
import { gatherFacts } from './facts';
import { emptyFigures, FigureSource, type Figures } from './figures';
import { endOf, reportRequest } from './order';
import type { ComplianceReport, TreeOfLog } from './report';
import { drawSample } from './sample';

/** Entries that are counted together, in batches: of alike ones the database gives one row. */
const SLICE_BATCHES = 4;

interface Saved {
  owner: FileAccount;
  /** All of the log that the report is on. */
  span: PositionRange;
  /** The first position that was not counted yet. */
  reached: number;
  figures: Figures;
  integrity: TreeOfLog | null;
}

/** Makes compliance reports. */
export function reportProducer(sealing: SealingContext, now: () => number): FileProducer {
  return {
    async open(order, saved) {
      const state = saved === null ? await begin(sealing, now, order) : (saved as unknown as Saved);
      if (state === 'later') return state;
      return new ReportProduction(order, state, await readConfiguration(order.reader, order.file));
    },
  };
}

async function begin(
  sealing: SealingContext,
  now: () => number,
  { reader, file }: FileOrder,
): Promise<Saved | 'later'> {
  const { span, owner } = await findFileRange(reader, file, reportRequest(file));
  const tree = await sealedTree(sealing, { number: file.account, id: owner.id }, file.snapshot, now);
  if (tree === 'later') return tree;
  const integrity = tree === 'refused' ? null : await describeTree(tree, file.snapshot);
  return { owner, span, reached: span.low, figures: emptyFigures(), integrity };
}

/** The tree of the first entries of a log. */
async function describeTree({ read }: Tree, size: number): Promise<TreeOfLog> {
  const [root] = await hashRanges([{ start: 0, end: size }], read);
  return { tree_size: size, root_hash: toHex(root as Uint8Array) };
}

class ReportProduction implements ProducerInput {
  private readonly source: FigureSource;

  constructor(
    private readonly order: FileOrder,
    private readonly state: Saved,
    private readonly configuration: Configuration,
  ) {
    const known = new Set(configuration.agents.map(({ number }) => number));
    this.source = new FigureSource(order.reader, state.span, (agent) => known.has(agent));
  }

  get rows(): number {
    return this.state.figures.events.reduce((sum, entries) => sum + entries, 0);
  }

  get reached(): number {
    return this.state.reached;
  }

  async next(): Promise<{ chunks: Uint8Array[]; ended: boolean }> {
    const { state, order } = this;
    if (state.reached >= state.span.high) return { chunks: [await this.write()], ended: true };
    state.reached = await this.source.add(state.figures, state.reached, order.batchRows * SLICE_BATCHES);
    return { chunks: [], ended: false };
  }

  save(): Json {
    return this.state as unknown as Json;
  }

  private async write(): Promise<Uint8Array> {
    const { file, loadAsset } = this.order;
    const report = await this.compose();
    if (file.format === 'json') return new TextEncoder().encode(`${JSON.stringify(report)}\n`);
    // Loaded when it is needed: no request waits for it.
    const { renderPdf } = await import('./pdf/render');
    return renderPdf(report, (font) => loadAsset(`/fonts/${font}`));
  }

  private async compose(): Promise<ComplianceReport> {
    const { reader, file } = this.order;
    const { owner, span, figures } = this.state;
    const { period, from, to } = reportRequest(file);
    const account = { number: file.account, id: owner.id };
    const activity = await readChanges(reader, file.account, {
      from: Math.max(from, file.keptFrom),
      to: endOf(file),
    });
    const asOf =
      to > file.createdAt ? `when the report was asked for, on ${period.end}` : `at the end of ${period.end}`;
    const facts = await gatherFacts(reader, {
      ...{
        period: { ...period, from },
        until: Math.min(to, file.createdAt),
        asOf,
        isCovered: file.keptFrom < to,
        asked: file.createdAt,
        figures,
        activity,
        span,
      },
      configuration: this.configuration,
      logStart: logStart(account),
    });
    return composeReport(
      file,
      owner,
      this.state.integrity,
      facts,
      await drawSample(reader, account, span, fileId(file)),
    );
  }
}
