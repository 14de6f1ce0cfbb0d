import type { Child } from 'hono/jsx';
import type { FileStatus } from '../../db/schema';
import { Badge } from '../parts/badge';
import { LiveWhile } from '../parts/live-while';
import { Code } from '../parts/text';
import { TimeLeft, TimeSince } from '../parts/time';
import { countText, sizeText } from './wording';

/** How often the list is loaded again while a file is being made, in seconds. */
const INTERVAL = 3;

const STATES: Record<FileStatus, string> = {
  processing: 'being made',
  completed: 'ready',
  failed: 'failed',
  expired: 'no longer kept',
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

interface FileListProps {
  title: string;
  address: string;
  files: ListedFile[];
  now: number;
}

/** The files, the newest first. While one of them is being made, the list keeps itself up to date. */
export function FileList({ title, address, files, now }: FileListProps) {
  const running = files.filter(({ status }) => status === 'processing').length;
  return (
    <LiveWhile id="files" address={address} seconds={INTERVAL} title={title} isLive={running > 0}>
      <ul class="files">
        {files.map((file) => (
          <FileRow file={file} now={now} />
        ))}
      </ul>
    </LiveWhile>
  );
}

function FileRow({ file, now }: { file: ListedFile; now: number }) {
  const { title, detail, status, created_at, expires_at, row_count, file_size_bytes: size } = file;
  return (
    <li>
      <div class="what">
        <h2>{title}</h2>
        <p class="soft">{detail}</p>
        <p class="soft">
          Started <TimeSince at={created_at} now={now} />
        </p>
      </div>
      <div class="side">
        <p class="actions">
          <Badge state={status} label={STATES[status]} />
          {status === 'completed' && expires_at && (
            <span class="soft">
              <TimeLeft until={expires_at} now={now} /> to download
            </span>
          )}
        </p>
        {status === 'processing' && <progress aria-label="Being made" />}
        {size !== undefined && (
          <p class="soft">
            {row_count !== undefined && `${countText(row_count, 'entry', 'entries')}, `}
            {sizeText(size)}
          </p>
        )}
        <Result file={file} />
      </div>
    </li>
  );
}

/** What one can do with the file, or why there is none. */
function Result({ file }: { file: ListedFile }) {
  const { status, download_url, proof_url, proof_error, sha256, error, again } = file;
  if (status === 'processing') return null;
  if (status === 'completed') {
    return (
      <>
        <p class="actions">
          {download_url && (
            <a class="button small" href={download_url}>
              Download
            </a>
          )}
          {proof_url && (
            <a class="button quiet small" href={proof_url}>
              Download the proof
            </a>
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
      {status === 'failed' && <p class="fault">{failureText(error)}</p>}
      <p class="actions">
        <a class="button quiet small" href={again}>
          Make it again
        </a>
      </p>
    </>
  );
}

function failureText(error: string | null): string {
  switch (error) {
    case 'agent_deleted':
      return 'An agent whose entries it may hold was deleted while it was being made.';
    case 'processing_failed':
      return 'It could not be made, although the service tried several times. If it fails again, tell the operator.';
    default:
      return `It could not be made (${error}).`;
  }
}
