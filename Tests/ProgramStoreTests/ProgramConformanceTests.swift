import CoreData
import StoreConformance
import StrataCore
import Testing

/// Stores of a program's own as engines, as far as their abilities go.
enum ProgramEngines {
  static let file = ConformingEngine("atomic store", abilities: [.clearing, .persistence]) {
    FileStore.register()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("conform-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var description = PersistentStoreDescription(
      type: .init(rawValue: FileStore.storeType), url: folder.appendingPathComponent("Store.json"))
    description.takesUndeclaredSlots = true
    return description
  } discard: { description in
    if let folder = description.url?.deletingLastPathComponent() {
      try? FileManager.default.removeItem(at: folder)
    }
  }
}

@Suite("Stores of a program's own conform")
struct ProgramConformanceTests {
  @Test("Each case that an atomic store has the abilities for", arguments: StoreConformance.cases)
  func conforms(_ testCase: ConformanceCase) throws {
    guard ProgramEngines.file.missing(for: testCase).isEmpty else { return }
    try ProgramEngines.file.run(testCase)
  }

  @Test("Most cases are not left out, and the others name what is missing")
  func leftOut() {
    let left = StoreConformance.cases.filter { !ProgramEngines.file.missing(for: $0).isEmpty }
    for testCase in left {
      let missing = ProgramEngines.file.missing(for: testCase).map(\.rawValue).joined(separator: ", ")
      print("\(ProgramEngines.file) leaves out “\(testCase)”: no \(missing)")
    }
    #expect(left.count * 4 < StoreConformance.cases.count)
  }
}
