// The architecture as a table. Each core folder may import what its row lists; type imports count.
// Adding an arrow is a design change: say why in docs/decisions/.
const coreArrows = {
  crossings: [],
  bus: [],
  rules: [],
  registry: [],
  tasks: [],
  cells: ['crossings', 'bus', 'registry'],
  memory: ['crossings', 'cells', 'rules'],
  session: ['crossings', 'cells', 'memory', 'rules'],
  orchestration: ['crossings', 'bus', 'cells', 'memory', 'rules', 'registry', 'session', 'tasks'],
  audit: ['crossings', 'rules', 'registry', 'tasks'],
};

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
      'A headend knows base, contracts and itself; those with bodies of JSON share how such are read.',
      '^src/headends/([^/]+)/',
      '^src/(base|contracts|headends/$1|headends/shared)/',
    ),
    only(
      'testkit',
      'What users test with knows contracts, the public doors of core, and the adapters that need no world.',
      '^src/testkit/',
      '^src/(base|contracts|testkit|core/[^/]+/index\\.ts$|adapters/(stores|cell-folders|schemas)/index\\.ts$)',
    ),
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
