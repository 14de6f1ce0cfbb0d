import type { AuditEntry } from '../../audit/entry';
import { type AuditExport, exportFilters } from '../../audit/exports/export';
import { listExports } from '../../audit/exports/list';
import { EVENT_NAMES } from '../audit/words';
import { loadNames } from '../frame/names';
import { LinkButton, Section } from '../parts/blocks';
import { Code, Named } from '../parts/inline';
import type { ConsoleContext } from '../session/access';
import { FILES_PER_PAGE, type ListedFile, sendFiles } from './file-list';
import { spanText } from './wording';

/** Shows the account's exports, the newest first. */
export async function showExports(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const [page, names] = await Promise.all([
    listExports(context, { limit: FILES_PER_PAGE, cursor: c.req.query('cursor') }),
    loadNames(context, ['agents']),
  ]);
  return sendFiles(c, {
    title: 'Exports',
    names,
    page,
    files: page.data.map(listed),
    about:
      'Files with entries of the audit log. Each can be downloaded for 24 hours, or until an agent in it is deleted.',
    ifEmpty: {
      title: 'There are no exports yet.',
      about:
        'An export is a file with entries of the audit log, for an auditor, a spreadsheet or a data tool.',
    },
    start: (
      <p class="actions">
        <LinkButton href="/console/exports/new" label="Start an export" />
      </p>
    ),
    howToVerify: (
      <Section name="verify" title="How to verify an export">
        <p>
          An export with details, in JSON or Parquet, comes with a proof that no entry was changed,
          added or left out. Download both files, and run this in a copy of Countersign:
        </p>
        <pre>{COMMAND}</pre>
        <p>
          <a href="/docs/guides/verifying#check-an-export">The guide to verifying</a>
        </p>
      </Section>
    ),
  });
}

/** In two lines, so that a narrow window does not break it within a word. */
const COMMAND = `npm run verify -- export_….json \\
  --proof export_….proof.json`;

/** The entries of an export in words, such as `only approval and denial entries`. */
function typesText(types: readonly AuditEntry['event_type'][] | null): string {
  if (types === null) return 'all events';
  const names = types.map((type) => EVENT_NAMES[type]);
  return `only ${new Intl.ListFormat('en').format(names)} entries`;
}

const NAMES: Record<AuditExport['format'], string> = {
  csv: 'CSV',
  json: 'JSON',
  parquet: 'Parquet',
};

function listed(shown: AuditExport): ListedFile {
  const { format, start_date, end_date, agent_id, event_types, include_details, bom } = shown;
  const again = new URLSearchParams({ format, start_date, end_date });
  if (agent_id !== null) again.set('agent_id', agent_id);
  for (const type of event_types ?? []) again.append('event_types', type);
  const filters = Object.entries(exportFilters(shown)).filter(
    ([name, value]) => name !== 'agent_id' && name !== 'event_types' && value !== null,
  );
  for (const [name, value] of filters) again.set(name, String(value));
  if (include_details) again.set('include_details', 'on');
  if (bom) again.set('bom', 'on');
  return {
    ...shown,
    title: `${spanText(start_date, end_date)}, ${NAMES[format]}`,
    detail: (
      <>
        {agent_id === null && 'All agents'}
        {agent_id !== null && <Named id={agent_id} />}, {typesText(event_types)},{' '}
        {filters.map(([name, value]) => (
          <>
            {name} <Code text={String(value)} />,{' '}
          </>
        ))}
        {include_details ? 'with details' : 'without details'}
      </>
    ),
    again: `/console/exports/new?${again}`,
  };
}
