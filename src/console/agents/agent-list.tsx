import type { Agent } from '../../agents/agent';
import { listAgents } from '../../agents/list';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { usePage } from '../frame/page-context';
import { Empty, LinkButton, NextPage, PAGE_SIZE, Tabs, withParameters } from '../parts/blocks';
import { Badge, Named, TimeSince, Written, WrittenLink } from '../parts/inline';
import { onOrOff } from '../parts/words';
import type { ConsoleContext } from '../session/access';

const VIEWS: readonly [active: string | null, label: string][] = [
  [null, 'All'],
  ['true', 'On'],
  ['false', 'Off'],
];

/** Shows the agents of the account, newest first; with `active`, only those that are on or off. */
export async function showAgents(c: ConsoleContext): Promise<Response> {
  const { context } = c.var.signedIn;
  const cursor = c.req.query('cursor') || undefined;
  const [active] = VIEWS.find(([value]) => value === c.req.query('active')) ?? [null];
  const [page, names] = await Promise.all([
    listAgents(context, {
      limit: PAGE_SIZE,
      cursor,
      ...(active !== null && { active: active === 'true' }),
    }),
    loadNames(context, ['people']),
  ]);
  const isFirst = page.data.length === 0 && active === null && cursor === undefined;
  if (isFirst) return sendPage(c, { title: 'Agents', names, children: <NoAgent /> });
  const address = new URL(c.req.url);
  return sendPage(c, {
    title: 'Agents',
    names,
    children: (
      <>
        <div class="bar">
          <p class="soft">Programs that ask for permission before they act.</p>
          {context.principal.scopes.includes('agents:write') && (
            <LinkButton href="/console/agents/new" label="Register an agent" />
          )}
        </div>
        <Tabs
          label="Agents by state"
          tabs={VIEWS}
          current={active}
          address={(value) => withParameters(address, { active: value, cursor: null })}
        />
        <Agents agents={page.data} active={active} />
        <NextPage page={page} address={address} />
      </>
    ),
  });
}

function Agents({ agents, active }: { agents: Agent[]; active: string | null }) {
  if (agents.length > 0) {
    return (
      <ul class="requests">
        {agents.map((agent) => (
          <AgentRow agent={agent} />
        ))}
      </ul>
    );
  }
  if (active === null) return <Empty title="No more agents." />;
  return <Empty title={`No agent is ${onOrOff(active === 'true')}.`} />;
}

function NoAgent() {
  const mayRegister = usePage().may('agents:write');
  return (
    <Empty title="No agent is registered yet.">
      <p>
        An agent is a program that asks for permission before it acts.
        {!mayRegister && ' A developer, admin or owner of the account can register one.'}
      </p>
      {mayRegister && <LinkButton href="/console/agents/new" label="Register the first agent" />}
    </Empty>
  );
}

function AgentRow({ agent }: { agent: Agent }) {
  const { id, name, description, is_active, owner_id, last_activity_at } = agent;
  return (
    <li class="request" data-row>
      <div class="what">
        <WrittenLink href={`/console/agents/${id}`} text={name} />
        {description !== undefined && (
          <p class="soft clamped">
            <Written text={description} hasLines />
          </p>
        )}
      </div>
      <div class="side">
        <Badge state={onOrOff(is_active)} />
        <p class="soft">
          {last_activity_at
            ? ['Last active ', <TimeSince at={last_activity_at} />]
            : 'Never active'}
        </p>
        <p class="soft">{owner_id ? ['Owner: ', <Named id={owner_id} />] : 'No owner'}</p>
      </div>
    </li>
  );
}
