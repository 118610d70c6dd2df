// swift-tools-version: 6.1
import PackageDescription

// Apple's systems have a CoreData of their own, and do not need the plugin.
#if canImport(Darwin)
  let appleSpelledTargets: [Target] = []
  let appleSpelledDependencies: [Target.Dependency] = []
  let appleSpelledProducts: [Product] = []
#else
  let appleSpelledTargets: [Target] = [
    .target(
      name: "AccessorPeers",
      dependencies: [
        .product(name: "Strata", package: "Strata"), .product(name: "CoreData", package: "Strata"),
      ],
      plugins: [.plugin(name: "CoreDataPlugin", package: "Strata")]),
    // An executable of its own: only this card builds what its macros are written with (see Scripts/check-products). What it shares with them it has by links.
    .executableTarget(
      name: "SwiftDataBench",
      dependencies: [
        .product(name: "SwiftData", package: "Strata"),
        .product(name: "Strata", package: "Strata"),
        .product(name: "CLMDBShim", package: "Strata"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
  ]
  let appleSpelledProducts: [Product] = [.executable(name: "swiftdata-bench", targets: ["SwiftDataBench"])]
  let appleSpelledDependencies: [Target.Dependency] = ["AccessorPeers"]
#endif

// Nested, so that peers are dependencies of the benchmarks and never of a user.
let package = Package(
  name: "StrataBenchmarks",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "strata-bench", targets: ["StrataBench"]),
    .executable(name: "strata-gate", targets: ["Gate"]),
  ] + appleSpelledProducts,
  dependencies: [
    // Named, because a path dependency otherwise takes the name of the folder it was cloned into.
    .package(name: "Strata", path: "../"),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
  ],
  targets: [
    .executableTarget(
      name: "StrataBench",
      dependencies: [
        .product(name: "Strata", package: "Strata"),
        .product(name: "CLMDBShim", package: "Strata"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ] + appleSpelledDependencies),
    .target(name: "GateCounters"),
    .executableTarget(
      name: "Gate",
      dependencies: [
        "GateCounters",
        .product(name: "Strata", package: "Strata"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
  ] + appleSpelledTargets,
  swiftLanguageModes: [.v6]
)
