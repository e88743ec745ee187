import { memoryCellFolders } from '#adapters/workspaces';
import { conformWorkspace } from '../../conformance/workspace.ts';

conformWorkspace('a workspace in memory', async () => memoryCellFolders());
