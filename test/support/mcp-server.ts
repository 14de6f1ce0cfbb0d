import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

/** An MCP server of the revision 2026-07-28 with a tool that asks its user before it acts. */
serveStdio(() => {
  const server = new McpServer({ name: 'test', version: '1' }, { capabilities: { tools: {} } });
  const inputSchema = z.object({ name: z.string() });
  const confirmation = z.object({ sure: z.boolean() });
  server.registerTool(
    'erase',
    { inputSchema, annotations: { readOnlyHint: true } },
    ({ name }, ctx) => {
      const answer = acceptedContent(ctx.mcpReq.inputResponses, 'sure', confirmation);
      if (answer) return { content: [{ type: 'text', text: `erased ${name}: ${answer.sure}` }] };
      const requestedSchema = {
        type: 'object' as const,
        properties: { sure: { type: 'boolean' as const } },
      };
      return inputRequired({
        inputRequests: { sure: inputRequired.elicit({ message: 'Sure?', requestedSchema }) },
      });
    },
  );
  return server;
});
