// swift-tools-version: 6.1
import CompilerPluginSupport
import PackageDescription

// STRATA_TESTS=AskingTests,QueryTests builds these test targets only: a short way round while something is written.
let chosenTests = Context.environment["STRATA_TESTS"].map { Set($0.split(separator: ",").map(String.init)) }

// What macros are written with. Only the products StrataModels and SwiftData lead to it: see Scripts/check-products.
let swiftSyntax: [Target.Dependency] = [
  "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros", "SwiftDiagnostics", "SwiftIfConfig",
  "SwiftCompilerPlugin",
].map { .product(name: $0, package: "swift-syntax") }

// Everything is the main actor's that says nothing else. Unsafe only by name: the tools' version that this package asks for has no setting for it.
#if compiler(>=6.2)
  let onMainActor: [SwiftSetting] = [.unsafeFlags(["-default-isolation", "MainActor"])]
#else
  let onMainActor: [SwiftSetting] = []
#endif

// Apple's systems have a CoreData and a SwiftData of their own; second modules of those names would hide them.
#if canImport(Darwin)
  let appleSpelledProducts: [Product] = []
  let appleSpelledTargets: [Target] = []
  let appleSpelledDependencies: [Target.Dependency] = []
  let appleSpelledPackages: [Package.Dependency] = []
#else
  let appleSpelledProducts: [Product] = [
    .library(name: "CoreData", targets: ["CoreData"]),
    .library(name: "CoreDataCombine", targets: ["CoreDataCombine"]),
    .library(name: "SwiftData", targets: ["SwiftData"]),
  ]
  // Of the product CoreDataCombine only: see Scripts/check-products.
  let appleSpelledPackages: [Package.Dependency] = [
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0")
  ]
  let appleSpelledDependencies: [Target.Dependency] = ["CoreData"]
  let appleSpelledTargets: [Target] = [
    .target(name: "CVariableArguments"),
    .target(name: "CoreData", dependencies: ["StrataCore", "CVariableArguments"]),
    .target(
      name: "CoreDataCombine",
      dependencies: [
        "CoreData", "StrataCore",
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "OpenCombineDispatch", package: "OpenCombine"),
        .product(name: "OpenCombineFoundation", package: "OpenCombine"),
      ]),
    .testTarget(
      name: "CoreDataCombineTests", dependencies: ["CoreDataCombine"],
      resources: [.copy("Library.xcdatamodeld")], plugins: ["CoreDataPlugin"]),
    .testTarget(name: "CoreDataTests", dependencies: ["CoreData", "RandomStacks", "ReadInterposer"]),
    // Every declaration that programs use, as a program sees the module: it imports CoreData and nothing else.
    .testTarget(name: "CoreDataSurfaceTests", dependencies: ["CoreData"]),
    // Stores of a program's own, as they are written for Core Data.
    .testTarget(name: "ProgramStoreTests", dependencies: ["CoreData", "StoreConformance"]),
    .executableTarget(
      name: "RandomStacks",
      dependencies: [
        "CoreData", "StoreInterposer", "SeededRandom",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Tests/RandomStacks"),
    // Ordinary code for Core Data in the language mode that most of it is written in.
    .testTarget(
      name: "CoreDataSwift5Tests", dependencies: ["CoreData"], swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
      name: "NSManagedSample", dependencies: ["CoreData"], path: "Tests/NSManagedSample",
      resources: [.copy("Garden.xcdatamodeld")], plugins: ["CoreDataPlugin"]),
    .executableTarget(
      name: "NSManagedCheck", dependencies: ["CoreData", "NSManagedSample"], path: "Tests/NSManagedCheck"),
    // One library as it was written for Apple's systems, after `strata port-core-data`, in both language modes; see Tests/PortingSample/README.md.
    .testTarget(
      name: "PortedSwift5Tests", dependencies: ["CoreData", "CoreDataCombine"],
      path: "Tests/PortingSample/Swift5",
      resources: [.copy("Ledger.xcdatamodeld")], swiftSettings: [.swiftLanguageMode(.v5)],
      plugins: ["CoreDataPlugin"]),
    .testTarget(
      name: "PortedSwift6Tests", dependencies: ["CoreData", "CoreDataCombine"],
      path: "Tests/PortingSample/Swift6",
      resources: [.copy("Ledger.xcdatamodeld")], plugins: ["CoreDataPlugin"]),
    .testTarget(name: "NSManagedTests", dependencies: ["CoreData", "NSManagedSample", "NSManagedGenerator"]),
    .macro(name: "SwiftDataMacros", dependencies: swiftSyntax + ["MacroSupport"]),
    .target(name: "SwiftData", dependencies: ["StrataCore", "CoreData", "SwiftDataMacros"]),
    .testTarget(
      name: "SwiftDataTests", dependencies: ["SwiftData", "StrataCore", "CoreData", "RandomModels"]),
    .executableTarget(
      name: "RandomModels",
      dependencies: [
        "SwiftData", "SeededRandom", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Tests/RandomModels"),
    .executableTarget(name: "JournalApp", dependencies: ["SwiftData"]),
    .testTarget(name: "JournalTests", dependencies: ["JournalApp"]),
    // As a program sees the module: it imports SwiftData and nothing else.
    .testTarget(name: "SwiftDataSurfaceTests", dependencies: ["SwiftData"]),
    .testTarget(name: "MainActorModelTests", dependencies: ["SwiftData"], swiftSettings: onMainActor),
    // One app as it is written for Apple's systems, in both language modes; Swift6 has the files of Swift5 by links.
    .testTarget(
      name: "FieldbookSwift5Tests", dependencies: ["SwiftData"], path: "Tests/FieldbookSample/Swift5",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(
      name: "FieldbookSwift6Tests", dependencies: ["SwiftData"], path: "Tests/FieldbookSample/Swift6"),
    .testTarget(
      name: "SwiftDataMacroTests",
      dependencies: [
        "SwiftDataMacros",
        .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax"),
        .product(name: "SwiftIfConfig", package: "swift-syntax"),
      ]),
  ]
#endif

// What keeps lines and spans in memory for tests comes with versions of swift-log and swift-distributed-tracing that need these tools.
#if compiler(>=6.2)
  let telemetryTests: [Target] = [
    .testTarget(
      name: "TelemetryTests",
      dependencies: [
        "StrataTelemetry", "Strata", "StrataCore", "TortureKit",
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
      ])
  ]
#else
  let telemetryTests: [Target] = []
#endif

let package = Package(
  name: "Strata",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Strata", targets: ["Strata"]),
    .library(name: "StrataCore", targets: ["StrataCore"]),
    .library(name: "StrataModels", targets: ["StrataModels"]),
    .library(name: "CLMDBShim", targets: ["CLMDBShim"]),
    // Stores on a PostgreSQL server. Only this product leads to libpq: see Scripts/check-products.
    .library(name: "StrataPostgres", targets: ["StrataPostgres"]),
    // Apple's Core Data stores, read and written. Only this product and the command line lead to libsqlite3: see Scripts/check-products.
    .library(name: "StrataAppleSQLite", targets: ["StrataAppleSQLite"]),
    // Events as log lines, metrics and spans. Only this product leads to swift-log, swift-metrics and swift-distributed-tracing: see Scripts/check-products.
    .library(name: "StrataTelemetry", targets: ["StrataTelemetry"]),
    .executable(name: "flight-log", targets: ["FlightLogTool"]),
    .executable(name: "flight-log-postgres", targets: ["FlightLogPostgres"]),
    .executable(name: "strata", targets: ["StrataTool"]),
    // The same, and it opens stores on PostgreSQL servers: a product of its own, since it leads to libpq.
    .executable(name: "strata-postgres", targets: ["StrataPostgresTool"]),
    // A store in the browser. Only this product leads to swift-nio: see Scripts/check-products.
    .executable(name: "strata-browse", targets: ["StrataBrowseTool"]),
    // On Apple's systems it generates nothing: so that a package can use it everywhere.
    .plugin(name: "CoreDataPlugin", targets: ["CoreDataPlugin"]),
  ] + appleSpelledProducts,
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.2.0"),
    // Of the macros of StrataModels and SwiftData only: see Scripts/check-products.
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
    // Of the product strata-browse only: see Scripts/check-products.
    .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
    // Of the product StrataTelemetry only: see Scripts/check-products.
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.1.0"),
  ] + appleSpelledPackages,
  targets: [
    .systemLibrary(
      name: "CLMDBShim", path: "CLMDBShim", pkgConfig: "lmdb",
      providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .target(
      name: "StrataCore",
      dependencies: ["CLMDBShim", .product(name: "HashTreeCollections", package: "swift-collections")]),
    .target(name: "Strata", dependencies: ["StrataCore"]),
    .systemLibrary(
      name: "CLibPQ", path: "CLibPQ", pkgConfig: "libpq",
      providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .target(name: "StrataPostgres", dependencies: ["StrataCore", "CLibPQ"]),
    .systemLibrary(
      name: "CStrataSQLite", path: "CStrataSQLite", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
    .target(name: "StrataAppleSQLite", dependencies: ["StrataCore", "CStrataSQLite", "CLMDBShim"]),
    .target(
      name: "StrataTelemetry",
      dependencies: [
        "StrataCore", .product(name: "Logging", package: "swift-log"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
      ]),
    .target(name: "MacroSupport", dependencies: swiftSyntax),
    .macro(name: "StrataModelMacros", dependencies: swiftSyntax + ["MacroSupport"]),
    .target(name: "StrataModels", dependencies: ["Strata", "StrataModelMacros"]),
    .executableTarget(name: "Bookshelf", dependencies: ["StrataModels"]),
    .target(
      name: "FlightLog",
      dependencies: ["Strata", .product(name: "ArgumentParser", package: "swift-argument-parser")],
      exclude: ["Data"]),
    .executableTarget(name: "FlightLogTool", dependencies: ["FlightLog"]),
    .executableTarget(name: "FlightLogPostgres", dependencies: ["FlightLog", "Strata", "StrataPostgres"]),
    .target(
      name: "StrataCommand",
      dependencies: [
        "StrataCore", "CLMDBShim", "NSManagedGenerator", "StrataAppleSQLite",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .executableTarget(name: "StrataTool", dependencies: ["StrataCommand"]),
    .executableTarget(
      name: "StrataPostgresTool", dependencies: ["StrataCommand", "StrataCore", "StrataPostgres"]),
    .target(
      name: "StrataBrowse",
      dependencies: [
        "StrataCommand", .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      // Part of the program: it reads no file but the store.
      resources: [
        .embedInCode("Page/page.html"), .embedInCode("Page/page.css"), .embedInCode("Page/page.js"),
        .embedInCode("Page/early.js"), .embedInCode("Page/edits.js"), .embedInCode("Page/live.js"),
        .embedInCode("Page/members.js"),
        .embedInCode("Page/icon.svg"),
      ]),
    .executableTarget(name: "StrataBrowseTool", dependencies: ["StrataBrowse"]),
    .target(name: "NSManagedGenerator"),
    .executableTarget(name: "NSManagedTool", dependencies: ["NSManagedGenerator"]),
    .plugin(name: "CoreDataPlugin", capability: .buildTool(), dependencies: ["NSManagedTool"]),
    .testTarget(name: "StrataCoreTests", dependencies: ["StrataCore", "CLMDBShim", "SeededRandom"]),
    // What every engine must do, and that those of the package do it.
    .target(
      name: "StoreConformance", dependencies: ["StrataCore", "SeededRandom"], path: "Tests/StoreConformance"),
    .testTarget(name: "StoreConformanceTests", dependencies: ["StoreConformance", "StrataCore"]),
    // Makes tables and the chart of Docs/Performance.md from what the benchmarks write. Here and not in their package, so that it is built and tested without their peers; what it
    // shares with them it has by links.
    .executableTarget(
      name: "PerformancePage",
      dependencies: [.product(name: "ArgumentParser", package: "swift-argument-parser")],
      path: "Benchmarks/Sources/PerformancePage"),
    .testTarget(name: "PerformancePageTests", dependencies: ["PerformancePage"], exclude: ["Sample"]),
    // Random numbers of tests, one generator for all of them.
    .target(name: "SeededRandom", path: "Tests/SeededRandom"),
    .target(
      name: "TortureKit", dependencies: ["Strata", "StrataCore", "SeededRandom"], path: "Tests/TortureKit"),
    .target(name: "StoreInterposer", path: "Tests/Interposer"),
    .target(name: "ReadInterposer", dependencies: ["CLMDBShim"], path: "Tests/ReadInterposer"),
    .executableTarget(
      name: "Torture",
      dependencies: [
        "TortureKit", "StoreInterposer", "CLMDBShim",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Tests/Torture"),
    .testTarget(
      name: "StrataTests",
      dependencies: [
        "Strata", "CLMDBShim", "FlightLog", "FlightLogTool", "TortureKit", "Torture", "StrataCommand",
        "StrataTool", "ReadInterposer",
      ],
      exclude: ["Models/Shop.xcdatamodeld"]),
    // Stores on a server against libpq alone; in the package of the benchmarks everybody who measures would need libpq.
    .executableTarget(
      name: "PostgresBench", dependencies: ["Strata", "StrataPostgres", "CLibPQ"], path: "Tests/PostgresBench"
    ),
    // One of several processes that use a store at once and record what they do.
    .executableTarget(
      name: "PostgresWorker", dependencies: ["Strata", "StrataPostgres", "TortureKit"],
      path: "Tests/PostgresWorker"),
    .testTarget(
      name: "PostgresTests",
      dependencies: [
        "StrataPostgres", "Strata", "StrataCore", "StrataCommand", "StrataPostgresTool", "FlightLog",
        "TortureKit", "StoreConformance", "PostgresWorker",
      ]),
    // Stores in Apple's format are written by the tests themselves, from its description.
    .testTarget(
      name: "AppleSQLiteTests",
      dependencies: [
        "StrataAppleSQLite", "StrataCore", "CStrataSQLite", "StrataCommand", "StrataTool", "TortureKit",
      ]
        + appleSpelledDependencies),
    // Small, so that the command can be built and tested without the big targets.
    .testTarget(
      name: "ToolTests", dependencies: ["Strata", "StrataCore", "StrataCommand", "StrataTool", "TortureKit"]),
    // The page over HTTP, and in a real browser where there is one.
    .testTarget(
      name: "BrowseTests",
      dependencies: [
        "StrataBrowse", "StrataBrowseTool", "StrataCommand", "StrataTool", "Strata", "StrataCore",
        "TortureKit",
      ]),
    .testTarget(name: "ModelTests", dependencies: ["StrataModels", "Bookshelf", "TortureKit"]),
    .testTarget(
      name: "ModelMacroTests",
      dependencies: [
        "StrataModelMacros",
        .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax"),
      ]),
    // Apart: what it imports by Core Data's names would be seen in every other file of its module.
    .testTarget(name: "QueryTests", dependencies: ["Strata", "TortureKit"] + appleSpelledDependencies),
    // As a program sees the library: it imports Strata and nothing below it.
    .testTarget(name: "AskingTests", dependencies: ["Strata"]),
  ] + appleSpelledTargets + telemetryTests,
  swiftLanguageModes: [.v6]
)
// A test target that imports a macro's module makes everything that is linked with it a build for the host, where `@testable import` of
// executables fails: so it is built on its own, and only when asked for by name.
let macroTests: Set = ["ModelMacroTests", "SwiftDataMacroTests"]
package.targets.removeAll { target in
  guard target.type == .test else { return false }
  return chosenTests.map { !$0.contains(target.name) } ?? macroTests.contains(target.name)
}

// STRATA_OPTIMIZED=1 compiles what the tests test as a release build does, but for what only debug builds check: `make test` and `make check` set it. Unsafe only by name, and nobody who
// depends on this package has it.
if Context.environment["STRATA_OPTIMIZED"] == "1" {
  let optimized: Set = [
    "StrataCore", "Strata", "CoreData", "SwiftData", "StrataModels", "StrataPostgres", "TortureKit",
  ]
  for target in package.targets where optimized.contains(target.name) {
    target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-O"], .when(configuration: .debug))]
  }
}
