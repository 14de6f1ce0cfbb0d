import type { Child } from 'hono/jsx';
import type { FileStatus } from '../../files/file';
import type { Page } from '../../http/page';
import type { Names } from '../frame/names';
import { sendPage, sendPart } from '../frame/page';
import { usePage } from '../frame/page-context';
import { Empty, LinkButton, NextPage, withParameters } from '../parts/blocks';
import { Badge, Code, TimeLeft, TimeSince } from '../parts/inline';
import { LivePart } from '../parts/live';
import { countText } from '../parts/words';
import type { ConsoleContext } from '../session/access';
import { sizeText } from './wording';

export const FILES_PER_PAGE = 20;
/** How often the list is loaded again while a file is being made, in seconds. */
const INTERVAL = 3;

const STATES: Record<FileStatus, string> = {
  processing: 'being made',
  completed: 'ready',
  failed: 'failed',
  expired: 'no longer kept',
};

const FAILURES: Record<string, string> = {
  agent_deleted: 'An agent whose entries it may hold was deleted while it was being made.',
  processing_failed:
    'It could not be made, although the service tried several times. If it fails again, tell the operator.',
};

/** An export or a report, as the list of files shows it. */
export interface ListedFile {
  title: Child;
  detail: Child;
  status: FileStatus;
  created_at: string;
  expires_at: string | null;
  download_url: string | null;
  error: string | null;
  file_size_bytes?: number | undefined;
  sha256?: string | null | undefined;
  row_count?: number | undefined;
  /** Only for an export: where its proof is. */
  proof_url?: string | null | undefined;
  proof_error?: string | null | undefined;
  /** The address of the form that starts the same again. */
  again: string;
}

interface FilesPage {
  title: string;
  page: Page<unknown>;
  files: ListedFile[];
  names?: Names;
  about: string;
  /** Shown while there are no files. */
  ifEmpty: { title: string; about: string };
  /** How one starts another file. */
  start: Child;
  howToVerify: Child;
}

/**
 * Answers with a page of files, the newest first; with the list alone if the address asks for that
 * part. While a file is being made, the list keeps itself up to date.
 */
export function sendFiles(
  c: ConsoleContext,
  { title, page, files, names, ...texts }: FilesPage,
): Response {
  const { about, ifEmpty, start, howToVerify } = texts;
  const address = new URL(c.req.url);
  const list = (
    <LivePart
      id="files"
      source={withParameters(address, { part: 'list' })}
      seconds={INTERVAL}
      title={title}
      reloads={files.some(({ status }) => status === 'processing')}
    >
      <ul class="files">
        {files.map((file) => (
          <FileRow file={file} />
        ))}
      </ul>
    </LivePart>
  );
  if (c.req.query('part') === 'list') return sendPart(c, list, names);
  if (files.length === 0) {
    const children = (
      <Empty title={ifEmpty.title}>
        <p>{ifEmpty.about}</p>
        {start}
      </Empty>
    );
    return sendPage(c, { title, names, children });
  }
  return sendPage(c, {
    title,
    names,
    children: (
      <>
        <div class="bar">
          <p class="soft">{about}</p>
          {start}
        </div>
        {list}
        <NextPage page={page} address={address} />
        {howToVerify}
      </>
    ),
  });
}

function FileRow({ file }: { file: ListedFile }) {
  const { title, detail, status, created_at, expires_at, row_count, file_size_bytes: size } = file;
  const { formatNumber } = usePage();
  return (
    <li>
      <div class="what">
        <h2>{title}</h2>
        <p class="soft">{detail}</p>
        <p class="soft">
          Started <TimeSince at={created_at} />
        </p>
      </div>
      <div class="side">
        <p class="actions">
          <Badge state={status} label={STATES[status]} />
          {status === 'completed' && expires_at && (
            <span class="soft">
              <TimeLeft until={expires_at} /> to download
            </span>
          )}
        </p>
        {status === 'processing' && <progress aria-label="Being made" />}
        {size !== undefined && (
          <p class="soft">
            {row_count !== undefined &&
              `${countText(row_count, formatNumber, 'entry', 'entries')}, `}
            {sizeText(size, formatNumber)}
          </p>
        )}
        <Result file={file} />
      </div>
    </li>
  );
}

/** The links to download the file or to make it again, and why a file or its proof is missing. */
function Result({ file }: { file: ListedFile }) {
  const { status, download_url, proof_url, proof_error, sha256, error, again } = file;
  if (status === 'processing') return null;
  if (status === 'completed') {
    return (
      <>
        <p class="actions">
          {download_url && <LinkButton href={download_url} label="Download" kind="small" />}
          {proof_url && (
            <LinkButton href={proof_url} label="Download the proof" kind="quiet small" />
          )}
        </p>
        {proof_error === 'log_refused' && (
          <p class="fault">
            Without proof: the log in the database contradicts its signed heads.{' '}
            <a href="/docs/guides/verifying#a-refused-log">What this means</a>
          </p>
        )}
        {sha256 && (
          <details>
            <summary>SHA-256</summary>
            <Code text={sha256} />
          </details>
        )}
      </>
    );
  }
  return (
    <>
      {status === 'failed' && (
        <p class="fault">{FAILURES[error ?? ''] ?? `It could not be made (${error}).`}</p>
      )}
      <p class="actions">
        <LinkButton href={again} label="Make it again" kind="quiet small" />
      </p>
    </>
  );
}
