import Foundation
import StoreConformance
import StrataCore
import Testing

/// The engines of the package without those of a program's own.
enum Engines {
  private static let everything = Set(EngineAbility.allCases)

  static let file = ConformingEngine("LMDB in a file", abilities: everything) {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("conform-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return PersistentStoreDescription(url: folder.appendingPathComponent("Store.strata"))
  } discard: { description in
    if let folder = description.url?.deletingLastPathComponent() {
      try? FileManager.default.removeItem(at: folder)
    }
  }

  static let memory = ConformingEngine(
    "LMDB in memory",
    abilities: everything.subtracting([.persistence, .closedStores, .migration, .sharing, .destroying])
  ) { .inMemory }

  static let all = [file, memory]
}

@Suite("Engines conform")
struct EngineConformanceTests {
  @Test("Each case", arguments: Engines.all, StoreConformance.cases)
  func conforms(_ engine: ConformingEngine, _ testCase: ConformanceCase) throws {
    guard engine.missing(for: testCase).isEmpty else { return }
    try engine.run(testCase)
  }

  @Test(
    "There are several hundred cases, each with a name of its own; those left out name the abilities that are missing"
  )
  func leftOut() {
    #expect(StoreConformance.cases.count >= 300)
    #expect(Set(StoreConformance.cases.map(\.description)).count == StoreConformance.cases.count)
    for engine in Engines.all {
      let left = StoreConformance.cases.filter { !engine.missing(for: $0).isEmpty }
      for testCase in left {
        print(
          "\(engine) leaves out “\(testCase)”: no \(engine.missing(for: testCase).map(\.rawValue).joined(separator: ", "))"
        )
      }
      #expect(left.isEmpty == (engine.abilities.count == EngineAbility.allCases.count))
    }
  }
}
