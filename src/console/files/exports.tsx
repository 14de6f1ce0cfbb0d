import { createExport, ExportCreation } from '../../audit/exports/create';
import type { AuditExport } from '../../audit/exports/export';
import { listExports } from '../../audit/exports/list';
import { batchReads } from '../frame/batched-reader';
import { type Refusal, readAddress, readForm, refusalOf, validate } from '../frame/form';
import { loadNames, type Names } from '../frame/names';
import { sendPage, sendPart } from '../frame/page';
import { Empty, NextPage, withParameters } from '../parts/list';
import { Named } from '../parts/text';
import type { ConsoleContext } from '../session/access';
import { type ExportFields, ExportForm, readExportFields } from './export-form';
import { FileList, type ListedFile } from './file-list';
import { spanText } from './wording';

const PATH = '/console/exports';
/** How many exports a page has. */
const LIMIT = 20;

/** Shows the account's exports, the newest first. */
export async function showExports(c: ConsoleContext): Promise<Response> {
  const { context: signedIn } = c.var.signedIn;
  const context = { ...signedIn, reader: batchReads(signedIn.reader) };
  const [page, names] = await Promise.all([
    listExports(context, { limit: LIMIT, cursor: c.req.query('cursor') }),
    loadNames(context, ['agents']),
  ]);
  const address = new URL(c.req.url);
  const list = (
    <FileList
      title="Exports"
      address={withParameters(address, { part: 'list' })}
      files={page.data.map((shown) => listed(shown, names))}
      now={context.runtime.now()}
    />
  );
  if (c.req.query('part') === 'list') return sendPart(c, list);
  const start = (
    <p class="actions">
      <a class="button" href={`${PATH}/new`}>
        Start an export
      </a>
    </p>
  );
  return sendPage(c, {
    title: 'Exports',
    children:
      page.data.length === 0 ? (
        <Empty title="There are no exports yet.">
          <p>An export is a file with entries of the audit log, for an auditor, a spreadsheet or a data tool.</p>
          {start}
        </Empty>
      ) : (
        <>
          <div class="bar">
            <p class="soft">
              Files with entries of the audit log. Each can be downloaded for 24 hours, unless an agent in it is deleted
              before.
            </p>
            {start}
          </div>
          {list}
          <NextPage page={page} address={address} />
          <HowToVerify />
        </>
      ),
  });
}

/** Shows the form that starts an export. The address may already say which entries. */
export async function showNewExport(c: ConsoleContext): Promise<Response> {
  return sendForm(c, readExportFields(readAddress(c), c.var.signedIn.context.runtime.now()));
}

/** Starts the export that the form describes, or shows the form again and why it was refused. */
export async function startExport(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const fields = readExportFields(await readForm(c), context.runtime.now());
  const { agent_id, event_types, ...others } = fields;
  try {
    const input = validate(ExportCreation(), {
      ...others,
      ...(agent_id !== '' && { agent_id }),
      ...(event_types.length > 0 && { event_types }),
    });
    await c.var.once((context) => createExport(context, input));
  } catch (error) {
    return sendForm(c, fields, refusalOf(error));
  }
  return c.redirect(PATH, 303);
}

async function sendForm(c: ConsoleContext, fields: ExportFields, refusal?: Refusal): Promise<Response> {
  const names = await loadNames({ ...c.var.signedIn.context, reader: batchReads(c.var.signedIn.context.reader) }, [
    'agents',
  ]);
  return sendPage(
    c,
    {
      title: 'Start an export',
      isNarrow: true,
      children: <ExportForm fields={fields} names={names} refusal={refusal} />,
    },
    refusal?.status ?? 200,
  );
}

function listed(shown: AuditExport, names: Names): ListedFile {
  const { format, start_date, end_date, agent_id, event_types, include_details } = shown;
  const again = new URLSearchParams([
    ...Object.entries({ format, start_date, end_date }),
    ...(agent_id === null ? [] : [['agent_id', agent_id]]),
    ...(event_types ?? []).map((type) => ['event_types', type]),
    ...(include_details ? [['include_details', 'on']] : []),
  ]);
  return {
    ...shown,
    title: `${spanText(start_date, end_date)}, ${NAMES[format]}`,
    detail: (
      <>
        {agent_id === null ? 'All agents' : <Named id={agent_id} names={names} />},{' '}
        {event_types === null ? 'all events' : `only ${event_types.join(', ')}`},{' '}
        {include_details ? 'with details' : 'without details'}
      </>
    ),
    again: `${PATH}/new?${again}`,
  };
}

const NAMES: Record<AuditExport['format'], string> = { csv: 'CSV', json: 'JSON', parquet: 'Parquet' };

function HowToVerify() {
  return (
    <section class="card" aria-labelledby="verify-title">
      <h2 id="verify-title">How to verify an export</h2>
      <p>
        An export with details, in JSON or Parquet, comes with a proof that no entry was changed, added or left out.
        Download both files, and run this in a copy of Countersign:
      </p>
      <pre>npm run verify -- export_….json --proof export_….proof.json</pre>
      <p>
        <a href="/docs/guides/verifying#check-an-export">The guide to verifying</a>
      </p>
    </section>
  );
}
