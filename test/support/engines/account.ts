/** An account with something of each kind, for the pages of the console. */
export class Account {
  readonly origin: string;
  /** A user token of the owner. */
  readonly token: string;
  /** The paths of the pages, by the names of the pages. */
  paths: Record<string, string> = {};
  private agentKey = '';
  private resources = 0;

  constructor(origin: string, token: string) {
    this.origin = origin;
    this.token = token;
  }

  async call(method: string, path: string, body?: object, credential = this.token) {
    const answer = await fetch(this.origin + path, {
      method,
      headers: { Authorization: `Bearer ${credential}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers of the API
    return (await answer.json()) as any;
  }

  /** Asks for something on a resource of its own, so that requests stand one by one in the inbox. */
  ask() {
    this.resources += 1;
    const request = {
      action: 'payout.send',
      resource: `account:supplier-${this.resources}`,
      scope: { amount: 250, currency: 'EUR', recipients: ['ada', 'grace'] },
      input: { amount: 250, to: 'supplier' },
      preview: {
        title: `Pay ${this.resources}`,
        fields: [{ label: 'To', value: 'supplier', of: '/to' }],
      },
    };
    return this.call('POST', '/v1/permissions', request, this.agentKey);
  }

  read(id: string) {
    return this.call('GET', `/v1/permissions/${id}`);
  }

  /** Makes what the pages show. */
  async fill(): Promise<void> {
    const agent = await this.call('POST', '/v1/agents', { name: 'Accounts payable' });
    this.agentKey = agent.api_key;
    const [waiting, decided] = [await this.ask(), await this.ask()];
    const scope = { ...decided.scope, amount: 90 };
    await this.call('POST', `/v1/permissions/${decided.id}/approve`, { scope });
    const channel = await this.call('POST', '/v1/channels', { kind: 'email', name: 'Finance' });
    const policy = await this.call('POST', '/v1/policies', {
      name: 'Small refunds',
      effect: 'approve',
      actions: ['refund.*'],
      resources: ['*'],
    });
    const [member] = (await this.call('GET', '/v1/members')).data;
    const [entry] = (await this.call('GET', '/v1/audit?limit=1')).data;
    this.paths = {
      'sign-in': '/console/sign-in',
      inbox: '/console',
      approved: '/console?status=approved',
      card: `/console/permissions/${waiting.id}`,
      decided: `/console/permissions/${decided.id}`,
      agents: '/console/agents',
      agent: `/console/agents/${agent.id}`,
      policies: '/console/policies',
      policy: `/console/policies/${policy.id}`,
      'new-policy': '/console/policies/new',
      explorer: '/console/audit',
      entry: `/console/audit/${entry.id}`,
      'new-export': '/console/exports/new',
      'new-webhook': '/console/webhooks/new',
      channel: `/console/channels/${channel.id}`,
      'new-channel': '/console/channels/new',
      connection: '/console/connections/new',
      members: '/console/members',
      member: `/console/members/${member.id}`,
      invite: '/console/members/new',
      activity: '/console/activity',
      me: '/console/me',
      'new-token': '/console/me/tokens/new',
    };
  }
}
