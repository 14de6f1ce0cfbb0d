import { type Agent, type preloadAgent, presentAgent } from '../../agents/agent';
import { AgentStatisticsQuery, getAgentStatistics } from '../../agents/get-statistics';
import { notFound } from '../../errors';
import type { Id } from '../../lib/typeid';
import { listPermissions } from '../../permissions/list';
import type { Permission } from '../../permissions/permission';
import { listLiveSeries } from '../../permissions/series/list-live';
import { validate } from '../frame/form';
import { loadNames } from '../frame/names';
import { sendPage } from '../frame/page';
import { usePage } from '../frame/page-context';
import { Facts, ForPrograms, Section } from '../parts/blocks';
import {
  Badge,
  Code,
  JsonText,
  Named,
  Time,
  TimeSince,
  toOneLine,
  Written,
  WrittenText,
} from '../parts/inline';
import { RequestRow } from '../parts/request';
import { onOrOff } from '../parts/words';
import { LiveSeriesList } from '../series/live-series';
import type { PreloadedContext } from '../session/access';
import { loadOwners } from './fields';
import { Manage, type RefusedAgentForm } from './manage';
import { Statistics } from './statistics';

export type AgentPageContext = PreloadedContext<typeof preloadAgent>;

/** How many of its requests the page of an agent shows. */
const RECENT = 5;

/**
 * The agent in the path.
 * @throws Problem `not_found`
 */
export function requireAgentInPath({ var: { loaded } }: AgentPageContext): Agent {
  const row = loaded.agent?.[0];
  if (!row) throw notFound('agent');
  return presentAgent(row);
}

/** Shows an agent, with its statistics and what can be changed. */
export function showAgent(c: AgentPageContext): Promise<Response> {
  return sendAgent(c);
}

/** Answers with the page of the agent in the path, in which a form says why it was refused. */
export async function sendAgent(
  c: AgentPageContext,
  refused?: RefusedAgentForm,
): Promise<Response> {
  const { context } = c.var.signedIn;
  const agent = requireAgentInPath(c);
  const { id, name, description, is_active, owner_id, last_activity_at, metadata } = agent;
  const { period } = validate(AgentStatisticsQuery(), {
    period: c.req.query('period') || undefined,
  });
  const { scopes } = context.principal;
  const mayChange = scopes.includes('agents:write');
  const [statistics, names, recent, series, owners] = await Promise.all([
    getAgentStatistics(context, { id, period }),
    loadNames(context, ['people']),
    scopes.includes('permissions:read') &&
      listPermissions(context, { agent_id: id, limit: RECENT }),
    scopes.includes('permissions:read') && listLiveSeries(context, { agent: id }),
    mayChange && loadOwners(context),
  ]);
  return sendPage(c, {
    title: toOneLine(name),
    names,
    heading: <Written text={name} />,
    status: refused?.refusal.status,
    children: (
      <>
        {description !== undefined && <WrittenText text={description} label="Description" />}
        <section class="card" aria-label="About the agent">
          <Facts
            facts={[
              ['State', <Badge state={onOrOff(is_active)} />],
              ['Owner', owner_id ? <Named id={owner_id} /> : 'Nobody'],
              ['Last active', last_activity_at ? <TimeSince at={last_activity_at} /> : 'Never'],
              ['Key begins with', <Code text={agent.api_key_prefix} />],
            ]}
          />
        </section>
        <div class={mayChange ? 'agent' : 'part'}>
          <div class="about">
            {series && <LiveSeriesList series={series} page={`/console/agents/${id}`} />}
            <Statistics id={id} statistics={statistics} />
            {recent && <RecentRequests agent={id} permissions={recent.data} />}
          </div>
          {mayChange && <Manage agent={agent} owners={owners || null} refused={refused} />}
        </div>
        <ForPrograms
          facts={[
            ['Agent', <Code text={id} />],
            ['Registered', <Time at={agent.created_at} />],
            ['Changed', <Time at={agent.updated_at} />],
          ]}
        >
          {Object.keys(metadata).length > 0 && <JsonText value={metadata} label="Metadata" />}
        </ForPrograms>
      </>
    ),
  });
}

const RECENT_SECTION = { name: 'recent', title: 'Recent requests', class: 'part' };

/** The newest requests of an agent. */
function RecentRequests({ agent, permissions }: { agent: Id<'agent'>; permissions: Permission[] }) {
  if (permissions.length === 0) {
    return (
      <Section {...RECENT_SECTION}>
        <p class="soft">It has made no request yet.</p>
      </Section>
    );
  }
  return (
    <Section {...RECENT_SECTION}>
      <ul class="requests">
        {permissions.map((request) => (
          <RequestRow request={request}>
            asked <TimeSince at={request.created_at} />
          </RequestRow>
        ))}
      </ul>
      <p class="actions">
        <a href={`/console?agent_id=${agent}`}>Its requests in the inbox</a>
        {usePage().may('audit:read') && (
          <a href={`/console/audit?agent_id=${agent}`}>Its entries in the audit log</a>
        )}
      </p>
    </Section>
  );
}
