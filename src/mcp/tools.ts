import type { Tool } from './tool';
import { getPermissionTool } from './tools/get-permission';
import { listMyPermissionsTool } from './tools/list-my-permissions';
import { listPendingTool } from './tools/list-pending';
import { reportOutcomeTool } from './tools/report-outcome';
import { requestPermissionTool } from './tools/request-permission';
import { searchAuditTool } from './tools/search-audit';
import { simulatePolicyTool } from './tools/simulate-policy';
import { useTokenTool } from './tools/use-token';
import { waitForDecisionTool } from './tools/wait-for-decision';

/**
 * Every tool, in the order in which clients see them. None decides on a request: a model can be
 * talked into approving what it reads.
 */
export const TOOLS: readonly Tool[] = [
  requestPermissionTool,
  waitForDecisionTool,
  useTokenTool,
  reportOutcomeTool,
  listPendingTool,
  getPermissionTool,
  listMyPermissionsTool,
  searchAuditTool,
  simulatePolicyTool,
];
