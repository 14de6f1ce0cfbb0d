import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { REVISIONS } from './mcp-revisions';
import { type Answer, type Call, type Json, ORIGIN, type World } from './world';

type Revision = (typeof REVISIONS)[number];

/** What a client has to send with a message of the previous era. */
export const LEGACY_HEADERS = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
  'MCP-Protocol-Version': '2025-11-25',
};

/**
 * The official client, whose requests go to a world. It checks every result against the tool's
 * output schema.
 */
export class McpClient {
  /** The answer to the last HTTP request. */
  last: Answer | undefined;

  private constructor(
    private readonly world: World,
    private readonly credential: { token: string },
    private readonly official: Client,
  ) {}

  /** Connects with a credential. */
  static async connect(
    world: World,
    token: string,
    revision: Revision = REVISIONS[0],
  ): Promise<McpClient> {
    const mode = revision === REVISIONS[0] ? { pin: revision } : ('legacy' as const);
    const official = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const client = new McpClient(world, { token }, official);
    const transport = new StreamableHTTPClientTransport(new URL(`${ORIGIN}/mcp`), {
      fetch: (url, options) => client.send(new URL(url), options ?? {}),
    });
    await official.connect(transport);
    // The results of the tools are checked from here on.
    await official.listTools();
    return client;
  }

  private async send(
    { pathname }: URL,
    { method = 'GET', headers, body }: RequestInit,
  ): Promise<Response> {
    const call: Call = {
      token: this.credential.token,
      headers: Object.fromEntries(new Headers(headers)),
    };
    this.last = await this.world.call(method, pathname, body ? { ...call, raw: body } : call);
    const { status, text } = this.last;
    return new Response(text === '' ? null : text, { status, headers: this.last.headers });
  }

  /** The tools that the server lists. */
  async tools(): Promise<Json[]> {
    return (await this.official.listTools()).tools;
  }

  /** Calls a tool, and returns the whole result. */
  call(name: string, fields: Json = {}): Promise<Json> {
    return this.official.callTool({ name, arguments: fields });
  }

  /** Calls a tool that succeeds, and returns its data. */
  async must(name: string, fields: Json = {}): Promise<Json> {
    const { isError, content, structuredContent } = await this.call(name, fields);
    if (isError) throw new Error(`${name} was refused: ${content[0].text}`);
    return structuredContent;
  }

  /** Calls a tool that is refused, and returns the text of the refusal. */
  async refused(name: string, fields: Json = {}): Promise<string> {
    const { isError, content, structuredContent } = await this.call(name, fields);
    if (!isError) throw new Error(`${name} was not refused: ${JSON.stringify(structuredContent)}`);
    return content[0].text;
  }

  /** What the server says about itself. */
  get instructions(): string | undefined {
    return this.official.getInstructions();
  }
}

/** Sends one JSON-RPC message of the previous era. */
export function sendMessage(
  world: World,
  token: string,
  message: Json,
  headers: Record<string, string> = {},
) {
  return world.call('POST', '/mcp', {
    token,
    body: message,
    headers: { ...LEGACY_HEADERS, ...headers },
  });
}
