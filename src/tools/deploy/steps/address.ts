import { UserError } from '../../user-error.ts';
import { callWrangler } from '../call-wrangler.ts';
import type { Cloudflare } from '../cloudflare.ts';
import type { Configuration } from '../configuration.ts';
import type { Deployment, Step } from '../deployment.ts';
import { writeConfiguration } from './configuration.ts';

/** The changes that would follow if a Worker got its custom domains. */
interface DomainChanges {
  /** Hosts that have a DNS record. */
  conflicting: { hostname: string }[];
}

/** Registers the account's name under workers.dev. wrangler does so only on a terminal. */
export function subdomainSteps({
  address: { newSubdomain },
  cloudflare,
  account,
}: Deployment): Step[] {
  if (newSubdomain === null) return [];
  return [
    {
      kind: 'workers.dev',
      name: `${newSubdomain}.workers.dev`,
      isDone: false,
      run: async () => {
        await cloudflare.change('PUT', `/accounts/${account}/workers/subdomain`, {
          subdomain: newSubdomain,
        });
      },
      hint: 'If the name is taken, choose another one with --subdomain.',
    },
  ];
}

/**
 * @throws UserError if another Worker has the domain: wrangler would take it from there without
 *   asking
 */
export async function requireOwnDomain(
  cloudflare: Cloudflare,
  account: string,
  { name }: Pick<Configuration, 'name'>,
  domain: string,
): Promise<void> {
  const query = new URLSearchParams({ hostname: domain });
  const owners = await cloudflare.list<{ service: string }>(
    `/accounts/${account}/workers/domains?${query}`,
  );
  const other = owners.find(({ service }) => service !== name);
  if (other)
    throw new UserError(
      `${domain} is served by the Worker ${other.service}. Detach it there first, or choose another one with --domain.`,
    );
}

/**
 * Attaches the custom domain to the deployed Worker. Looks first whether the host has a DNS record,
 * because wrangler replaces one without asking when nobody is there to be asked.
 */
export function domainSteps(deployment: Deployment): Step[] {
  const { configuration, address, found, options, cloudflare, account, signal } = deployment;
  const { domain } = address;
  if (domain === null) return [];
  return [
    {
      kind: 'domain',
      name: domain,
      isDone: found.worker?.domains.includes(domain) ?? false,
      run: async () => {
        const path = `/accounts/${account}/workers/scripts/${configuration.name}/domains/changeset?replace_state=true`;
        const { conflicting } = await cloudflare.change<DomainChanges>('POST', path, [
          { hostname: domain },
        ]);
        if (conflicting.length > 0 && !options.replacesDns)
          throw new UserError(
            `${domain} has a DNS record. Remove it in the dashboard, or replace it: add --replace-dns to the command.`,
          );
        const config = writeConfiguration(deployment, domain);
        await callWrangler(['triggers', 'deploy', '--config', config], signal);
      },
      hint: 'The domain has to be in a zone of this Cloudflare account.',
    },
  ];
}
