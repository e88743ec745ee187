import { memoryWorkspaces } from '#adapters/workspaces';
import { conformWorkspace } from '../../conformance/workspace.ts';

conformWorkspace('a workspace in memory', async () => memoryWorkspaces());
