// The architecture as a table. Each core folder may import what its row lists; type imports count.
// Adding an arrow is a design change: say why in docs/decisions/.
const coreArrows = {
  crossings: [],
  bus: ['crossings'],
  rules: [],
  registry: [],
  tasks: ['rules'],
  events: ['bus', 'crossings', 'registry', 'rules', 'tasks'],
  cells: ['crossings', 'bus', 'events', 'registry'],
  memory: ['registry', 'rules'],
  session: ['events', 'memory', 'rules'],
  orchestration: ['crossings', 'bus', 'cells', 'memory', 'rules', 'registry', 'session', 'tasks'],
  audit: ['rules', 'registry', 'tasks'],
};

const appRooms = 'agents|conversations|serve|storage';
const agentsOnDemand = 'agent-help|check-agents|import-agents|init-folder|load-tasks|registry';

const only = (name, comment, from, to) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { path: '^src/', pathNot: to },
});

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'A cycle has no top to read from.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    only('base-knows-nothing', 'Words of no domain.', '^src/base/', '^src/base/'),
    only('contracts-know-base', 'Types only, one idea per file.', '^src/contracts/', '^src/(contracts|base)/'),
    ...Object.entries(coreArrows).map(([folder, allowed]) =>
      only(
        `core-${folder}`,
        `core/${folder} knows base, contracts${allowed.map((name) => `, ${name}`).join('')}.`,
        `^src/core/${folder}/`,
        `^src/(base|contracts|core/(${[folder, ...allowed].join('|')}))/`,
      ),
    ),
    {
      name: 'core-by-its-door',
      comment: 'Another core folder is reached by its index.',
      severity: 'error',
      from: { path: '^src/core/([^/]+)/' },
      to: { path: '^src/core/([^/]+)/(?!index\\.ts$)', pathNot: '^src/core/$1/' },
    },
    {
      name: 'core-touches-no-world',
      comment: 'Core opens no file, socket or clock; hashing is arithmetic and lives in base.',
      severity: 'error',
      from: { path: '^src/(core|contracts)/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'core-needs-no-vendor',
      comment: 'Only the types of the AI SDK; vendors live in adapters, one folder each.',
      severity: 'error',
      from: { path: '^src/(base|core|contracts)/' },
      to: { path: 'node_modules', pathNot: 'node_modules/@ai-sdk/provider/' },
    },
    only(
      'adapters-meet-in-app',
      'An adapter knows base, contracts and itself.',
      '^src/adapters/([^/]+)/',
      '^src/(base|contracts|adapters/$1)/',
    ),
    only(
      'headends-meet-in-app',
      'A headend knows base, contracts and itself; those with bodies of JSON share how such are read, those for people how a run looks.',
      '^src/headends/([^/]+)/',
      '^src/(base|contracts|headends/$1|headends/(shared|run-view))/',
    ),
    {
      name: 'a-command-is-one-file',
      comment: 'A command knows what commands share, not another command. A second file has its name.',
      severity: 'error',
      from: { path: '^src/headends/cli/([^/]+)\\.ts$', pathNot: '/(index|run-cli|parse-args|commands)\\.ts$' },
      to: { path: '^src/headends/cli/[^/]+\\.ts$', pathNot: '^src/headends/cli/$1-' },
    },
    only(
      'testkit',
      'What users test with knows contracts, the public doors of core, and the adapters that need no world.',
      '^src/testkit/',
      '^src/(base|contracts|testkit|core/[^/]+/index\\.ts$|adapters/(stores|cell-folders|schemas)/index\\.ts$)',
    ),
    only(
      'app-agents',
      'Agents from files: knows the doors of core, of adapters and of the testkit, but no headend and no other room of app.',
      '^src/app/agents/',
      '^src/(base|contracts|app/agents)/|^src/(core/[^/]+|adapters/[^/]+|testkit)/index\\.ts$',
    ),
    only(
      'app-conversations',
      'Conversations are read from and written to stores that are passed in.',
      '^src/app/conversations/',
      '^src/(base|contracts|app/conversations)/|^src/core/[^/]+/index\\.ts$',
    ),
    only(
      'app-storage',
      'The life of recorded runs: knows stores that are passed in, and what conversations hold of runs.',
      '^src/app/storage/',
      '^src/(base|contracts|app/storage)/|^src/(core/[^/]+|app/conversations)/index\\.ts$',
    ),
    only(
      'app-serve',
      'Callers, tokens and slots: the same for every protocol, so it knows no headend.',
      '^src/app/serve/',
      '^src/(base|contracts|app/serve)/',
    ),
    {
      name: 'app-rooms-by-their-door',
      comment: 'A room of app is reached by its index.',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/app/(${appRooms})/` },
      to: { path: `^src/app/(${appRooms})/(?!index\\.ts$)`, dynamic: false },
    },
    {
      name: 'app-rooms-lazily',
      comment: 'What only some commands need is loaded by its own file, so that the others start faster.',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/app/(${appRooms})/` },
      to: {
        path: `^src/app/(${appRooms})/`,
        pathNot: `/index\\.ts$|^src/app/agents/(${agentsOnDemand})\\.ts$`,
        dynamic: true,
      },
    },
    {
      name: 'nobody-knows-app',
      comment: 'app/ is the only folder that knows everyone.',
      severity: 'error',
      from: { path: '^src/(?!app/)' },
      to: { path: '^src/app/' },
    },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere is a mistake.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      conditionNames: ['cloister-source', 'node', 'import', 'types', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.js', '.d.ts'],
    },
  },
};
