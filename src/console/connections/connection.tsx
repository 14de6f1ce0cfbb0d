import {
  type Connection,
  type preloadConnection,
  presentConnection,
  requireConnection,
} from '../../connections/connection';
import { deleteConnection } from '../../connections/delete';
import { type ConnectionReads, getReads } from '../../connections/get-reads';
import { ConnectionTest, testConnection } from '../../connections/test';
import { updateConnection } from '../../connections/update';
import { PROBLEMS, Problem } from '../../errors';
import { pathId } from '../../http/path-id';
import { listPermissions } from '../../permissions/list';
import type { Permission } from '../../permissions/permission';
import {
  type Refusal,
  readForm,
  refusalOf,
  requireUnchangedToActivate,
  validate,
} from '../frame/form';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { usePage } from '../frame/page-context';
import {
  Facts,
  ForPrograms,
  LinkButton,
  NextPage,
  PAGE_SIZE,
  PlainList,
  Section,
  Table,
} from '../parts/blocks';
import { TextField } from '../parts/fields';
import { Action, Alert, Form, Submit } from '../parts/form';
import { Badge, Code, Creator, Named, Time, toOneLine, Written } from '../parts/inline';
import { RequestRow } from '../parts/request';
import { onOrOff, switchLabel } from '../parts/words';
import { OutcomeBadge } from '../permission/outcome';
import type { ConsoleContext, PreloadedContext } from '../session/access';
import { redirectWithFlash } from '../session/flash';
import { RuleList } from './rule-list';

export type ConnectionContext = PreloadedContext<typeof preloadConnection>;

/** How many days of reads the page shows. */
const DAYS = 7;

interface Shown {
  /** Why the change in this request was refused. */
  refusal?: Refusal | undefined;
  /** The result of the test in this request. */
  tested?: { path: string; result: string } | undefined;
}

/** Shows the connection in the path: where it leads, its rules, and what was called. */
export async function showConnection(
  c: ConnectionContext,
  { refusal, tested }: Shown = {},
): Promise<Response> {
  const { context } = c.var.signedIn;
  const row = requireConnection(c.var.loaded.connection);
  const connection = presentConnection(row);
  const { scopes } = context.principal;
  const [calls, reads, names] = await Promise.all([
    scopes.includes('permissions:read')
      ? listPermissions(context, {
          connection_id: row.id,
          limit: PAGE_SIZE,
          cursor: c.req.query('cursor'),
        })
      : null,
    getReads(context, row, DAYS),
    loadNames(context, ['people', 'agents', 'policies']),
  ]);
  const mayWrite = scopes.includes('connections:write');
  const path = `/console/connections/${connection.id}`;
  const proxy = `${c.var.config.publicUrl}/v1/connections/${connection.id}/proxy`;
  return sendPage(c, {
    title: toOneLine(connection.name),
    names,
    heading: <Written text={connection.name} />,
    status: refusal?.status,
    children: (
      <>
        {refusal && <Alert>{refusal.detail}</Alert>}
        <About connection={connection} proxy={proxy} />
        {mayWrite && <Changes connection={connection} />}
        <Section name="rules" title="Rules">
          <RuleList rules={connection.rules} />
        </Section>
        {mayWrite && connection.is_active && <Test path={path} tested={tested} />}
        {calls && (
          <Section name="calls" title="Calls that asked for permission" class="part">
            <Calls calls={calls.data} />
            <NextPage page={calls} address={new URL(path, c.req.url)} />
          </Section>
        )}
        <Section name="reads" title={`Calls sent without permission in the last ${DAYS} days`}>
          <Reads reads={reads} />
        </Section>
        <ForPrograms
          facts={[
            ['Connection', <Code text={connection.id} />],
            ['Slug', <Code text={connection.slug} />],
            ['Created', <Time at={connection.created_at} />],
            ['Created by', <Creator id={connection.created_by} />],
            ['Changed', <Time at={connection.updated_at} />],
          ]}
        />
      </>
    ),
  });
}

function About({ connection, proxy }: { connection: Connection; proxy: string }) {
  const { base_url, auth, agent_ids, is_active } = connection;
  const credential = {
    none: 'None',
    basic: 'User and password, stored encrypted',
    header: auth.type === 'header' && [
      <Code text={`${auth.header}: ${auth.prefix}…`} />,
      ', stored encrypted',
    ],
  };
  return (
    <section class="card" aria-label="About the connection">
      <Facts
        facts={[
          ['State', <Badge state={onOrOff(is_active)} />],
          ['Base URL', <Written text={base_url} />],
          ['Agents call', <Code text={proxy} />],
          ['Credential', credential[auth.type]],
          ['Agents', <PlainList items={agent_ids.map((id) => <Named id={id} />)} />],
        ]}
      />
      <p class="hint">
        In the agent’s program, use the address in “Agents call” as base URL, and the agent’s own
        key in place of the real one.
      </p>
    </section>
  );
}

/** The forms that change a connection. One whose change cannot be undone asks once more. */
function Changes({ connection: { id, is_active, updated_at } }: { connection: Connection }) {
  const path = `/console/connections/${id}`;
  return (
    <>
      <div class="actions">
        <LinkButton href={`${path}/edit`} label="Change" kind="quiet small" />
        <Action
          action={`${path}/switch`}
          label={switchLabel(is_active)}
          fields={{ is_active: String(!is_active), updated_at }}
        />
      </div>
      {is_active && (
        <p class="hint">
          While the connection is off, it sends nothing. Switching it off withdraws the requests
          that wait, for good.
        </p>
      )}
      <div class="part">
        <details>
          <summary>Delete the connection</summary>
          <Form action={`${path}/delete`} class="asking">
            <p>
              Nothing more is sent, requests that wait are withdrawn, and the credential is deleted.
              What was done stays in the log. This cannot be undone.
            </p>
            <Submit label="Delete the connection" kind="danger small" />
          </Form>
        </details>
      </div>
    </>
  );
}

function Test({ path, tested }: { path: string; tested: Shown['tested'] }) {
  return (
    <Section name="test" title="Test it" id="test">
      <Form action={`${path}/test#test`} class="inline">
        <TextField
          label="Path to read with the credential"
          name="path"
          value={tested?.path ?? '/'}
          maxlength={2_048}
        />
        <Submit label="Send a GET" kind="quiet" />
      </Form>
      {tested && (
        <p class="notice" role="status">
          {tested.result}
        </p>
      )}
      <p class="hint">The rules do not apply to the test. The body of the answer is not shown.</p>
    </Section>
  );
}

/** The requests of a connection, newest first. */
function Calls({ calls }: { calls: readonly Permission[] }) {
  if (calls.length === 0) return <p class="soft">None yet.</p>;
  return (
    <ul class="requests">
      {calls.map((call) => (
        <RequestRow
          request={call}
          agent={<Named id={call.agent_id} />}
          badge={
            call.outcome ? <OutcomeBadge status={call.outcome.status} isOfConnection /> : undefined
          }
        >
          <Time at={call.created_at} />
        </RequestRow>
      ))}
    </ul>
  );
}

function Reads({ reads: { data } }: { reads: ConnectionReads }) {
  const { formatNumber } = usePage();
  if (data.length === 0) return <p class="soft">None.</p>;
  return (
    <Table caption="Calls sent without permission" columns={['Day (UTC)', 'Agent', 'Calls']}>
      {data.map(({ date, agent_id, count }) => (
        <tr>
          <td class="day">{date}</td>
          <td>
            <Named id={agent_id} isShort />
          </td>
          <td class="number">{formatNumber(count)}</td>
        </tr>
      ))}
    </Table>
  );
}

/**
 * Switches the connection in the path on or off: on, only if nobody changed it since the page was
 * shown.
 */
export async function switchConnection(c: ConnectionContext): Promise<Response> {
  const connection = requireConnection(c.var.loaded.connection);
  const form = await readForm(c);
  const is_active = form.text('is_active') === 'true';
  try {
    const { updated_at } = presentConnection(connection);
    if (is_active) requireUnchangedToActivate('connection', form, updated_at);
    await updateConnection(c.var.signedIn.context, { connection, is_active });
  } catch (error) {
    return showConnection(c, { refusal: refusalOf(error) });
  }
  return redirectWithFlash(c, `/console/connections/${connection.id}`, 'saved');
}

/** Deletes the connection in the path. */
export async function removeConnection(c: ConsoleContext): Promise<Response> {
  await deleteConnection(c.var.signedIn.context, { id: pathId(c, 'conn') });
  return redirectWithFlash(c, '/console/connections', 'deleted');
}

/** Reads a path through the connection in the path, and shows what came. */
export async function sendConnectionTest(c: ConnectionContext): Promise<Response> {
  const connection = requireConnection(c.var.loaded.connection);
  const typed = (await readForm(c)).text('path').trim();
  try {
    const { path } = validate(ConnectionTest(), { path: typed });
    const { now } = c.var.runtime;
    const { status, duration_ms } = await testConnection(c.var.signedIn.context, {
      ...{ connection, path, now },
    });
    const result = `The service answered ${status} after ${duration_ms} ms.`;
    return showConnection(c, { tested: { path, result } });
  } catch (error) {
    return showConnection(c, { tested: { path: typed, result: faultOf(error) } });
  }
}

/** Why a test failed. What the other service does is no error of this one. */
function faultOf(error: unknown): string {
  if (!(error instanceof Problem)) throw error;
  const [fault] = error.options.errors ?? [];
  if (fault) return `The path ${fault.message}.`;
  if (PROBLEMS[error.code].status === 401 || error.code === 'unavailable') throw error;
  return error.detail;
}
