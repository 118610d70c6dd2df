import Foundation
import StoreInterposer
import Strata
import TortureKit

/// Lets the first, second, third … call of each function fail with each error, in each task.
struct Faults: TortureKind {
  static let name = "faults"
  static let cases = "faults"

  private let seed: UInt64
  private(set) var details: [String: Int] = [:]

  init(seed: UInt64) { self.seed = seed }

  mutating func round() throws -> Int {
    var random = SeededGenerator(seed: seed)
    var saves = 4 + random.below(30)
    // A save that inserts asks the store for more than others: for primary keys.
    while !LedgerPlan(writer: 1, after: saves).insertsNext { saves += 1 }
    let folder = try ScratchFolder()
    let template = try Self.makeStore(folder("Template.strata"), saves: saves)
    var count = 0
    var violations: [String] = []
    for stage in FaultStage.allCases {
      for fault in Fault.all where fault.function != .malloc || si_sees_malloc() != 0 {
        do {
          var nth = 1
          while try FaultCase(
            stage: stage, fault: fault, nth: nth, saves: saves, template: template, folder: folder,
            durability: seed % 4 == 3 ? .relaxed : .full
          ).run() {
            count += 1
            details["in \(fault.function.rawValue)", default: 0] += 1
            nth += 1
          }
        } catch {
          violations.append("\(error)")
        }
      }
    }
    if !violations.isEmpty { throw TortureViolation(violations.joined(separator: "\n")) }
    return count
  }

  /// The bytes of a store after so many saves, without free pages, so that it must grow soon.
  private static func makeStore(_ path: String, saves: Int) throws -> [UInt8] {
    let container = try Ledger.open(path)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for save in 0..<saves {
        try LedgerPlan(writer: 1, after: save).change(context)
        try context.save()
      }
    }
    let copy = path + ".copy"
    try Ledger.store(container).backup(to: URL(fileURLWithPath: copy), compacting: true)
    try Ledger.close(container)
    return Array(try Data(contentsOf: URL(fileURLWithPath: copy)))
  }
}
