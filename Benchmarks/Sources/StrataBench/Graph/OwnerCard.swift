import ArgumentParser
import Foundation
import Strata

/// The card “owner”: what one owner with very many members costs to change and to count, and to delete with all of them.
///
/// One owner with a hundred members and one with a million: what is asked for is work that grows with the logarithm of the
/// number. The cascade says how much memory it takes at its highest for each object that goes.
struct Owner: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Append to, remove from, count and delete one owner with very many members.")

  @Option(parsing: .upToNextOption, help: "Numbers of members, such as 100 10k 1M.")
  var sizes = [Size(100), Size(10_000), Size(1_000_000)]
  // Within the first hundred, whether another processor has the pages in its cache decides what a microsecond's work takes.
  @Option(help: "How often each thing is done.") var runs = 501
  @Option(help: "Folder for the stores; it should lie on a disk, not in memory.")
  var directory = ".build/bench-stores"
  @OptionGroup var output: ResultsOptions

  func validate() throws {
    guard runs > 0, !sizes.isEmpty else { throw ValidationError("--runs and --sizes need positive numbers.") }
  }

  func run() async throws {
    let root = URL(fileURLWithPath: directory).appendingPathComponent("owner-\(getpid())")
    defer { try? FileManager.default.removeItem(at: root) }
    var table = Table(header: [
      "members", "relationship", "append and save, µs", "remove and save, µs", "count, µs", "look up, µs",
      "rows loaded",
      "cascade, ms", "bytes at most per object",
    ])
    var figures: [Figure?] = []
    for size in sizes.map(\.rows) {
      for isManyToMany in [false, true] {
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let bench = try await OwnerBench(root, isManyToMany: isManyToMany)
        let result = try await bench.run(size, runs)
        table.rows.append(result.cells)
        figures += result.figures
        try FileManager.default.removeItem(at: root)
      }
    }
    print("## strata-bench owner\n")
    print("Medians of \(runs); nothing is flushed: what is measured is work, not the disk.\n")
    print(table)
    // Nothing is flushed, so the disk is not asked.
    try output.write("owner", figures, on: Machine(directory: nil))
  }
}

/// What was measured of one owner.
private struct OwnerResult: Sendable {
  var size: Int
  var isManyToMany: Bool
  /// In seconds, of each run.
  var times: [String: [Double]] = [:]
  /// Members that became objects with values.
  var loaded = 0
  /// Of the deletion with all members.
  var cascade = 0.0
  var cascadeBytes = 0

  static let operations = ["append and save", "remove and save", "count", "look up"]

  private var relationship: String { isManyToMany ? "many-to-many" : "one-to-many" }
  /// Less than that says something about the process only.
  private var saysMemory: Bool { size >= 10_000 }

  var cells: [String] {
    ["\(size)", relationship]
      + Self.operations.map { String(format: "%.1f", (times[$0] ?? []).median * 1e6) }
      + [
        "\(loaded)", String(format: "%.1f", cascade * 1_000), saysMemory ? "\(cascadeBytes / size)" : "",
      ]
  }

  var figures: [Figure?] {
    let memory = Figure.measured(
      "cascade", size: size, relationship, as: .memoryPerObject, [Double(cascadeBytes / size)], unit: "bytes")
    return Self.operations.map {
      .seconds($0, size: size, relationship, times[$0] ?? [], .microseconds)
    } + [
      .seconds("cascade", size: size, relationship, [cascade], .milliseconds), saysMemory ? memory : nil,
    ]
  }
}

private struct OwnerBench {
  let container: PersistentContainer
  let isManyToMany: Bool

  init(_ root: URL, isManyToMany: Bool) async throws {
    self.isManyToMany = isManyToMany
    let member = EntityDescription("Member", properties: [AttributeDescription("number", .integer64)])
    let owner = EntityDescription("Owner", properties: [AttributeDescription("name", .string)])
    let members = RelationshipDescription("members", to: member, maxCount: 0, deleteRule: .cascade)
    let back = RelationshipDescription("owner", to: owner, maxCount: isManyToMany ? 0 : 1)
    members.inverseRelationship = back
    back.inverseRelationship = members
    owner.properties.append(members)
    member.properties.append(back)
    container = PersistentContainer(name: "Owner", model: ManagedObjectModel(entities: [owner, member]))
    var description = PersistentStoreDescription.measured(root.appendingPathComponent("owner.strata"))
    description.durability = .none
    container.persistentStoreDescriptions = [description]
    try await container.loadPersistentStores()
  }

  private static let membersSlot = 1

  func run(_ size: Int, _ runs: Int) async throws -> OwnerResult {
    let id = try await fill(size)
    let context = container.newBackgroundContext()
    let isManyToMany = isManyToMany
    let memberEntity = try entity("Member")
    var result = try await context.perform {
      var result = OwnerResult(size: size, isManyToMany: isManyToMany)
      let owner = context.object(with: id)
      let view = { owner.related(ManagedObject.self, slot: Self.membersSlot) }
      for run in 0...runs {
        let new = ManagedObject(entity: memberEntity, insertInto: context)
        new.setValue(Int64(size + run), forKey: "number")
        try context.save()
        let times = [
          try seconds {
            view().insert(new)
            try context.save()
          },
          try seconds {
            guard view().count == size + 1 else { throw BenchmarkError("a member is missing") }
          },
          try seconds {
            guard view().contains(new) else { throw BenchmarkError("the member is missing") }
          },
          try seconds {
            view().remove(new)
            try context.save()
          },
        ]
        guard view().count == size else { throw BenchmarkError("the member is still there") }
        if run == 0 { continue }
        for (operation, time) in zip(["append and save", "count", "look up", "remove and save"], times) {
          result.times[operation, default: []].append(time)
        }
      }
      let loaded = context.registeredObjects.filter { !$0.isFault }.count
      result.loaded = max(loaded - 2, 0)
      return result
    }
    let deleting = container.newBackgroundContext()
    let before = ResidentSet.markPeak()
    result.cascade = try await deleting.perform {
      try seconds {
        deleting.delete(deleting.object(with: id))
        try deleting.save()
      }
    }
    let after = ResidentSet.current()
    let left = try await deleting.perform {
      try deleting.count(for: FetchRequest<ManagedObject>(entityName: "Member"))
    }
    guard left == runs + 1 else { throw BenchmarkError("\(left) members are left") }
    result.cascadeBytes = after.peak - before.current
    return result
  }

  private func fill(_ size: Int) async throws -> ManagedObjectID {
    let context = container.newBackgroundContext()
    let (ownerEntity, memberEntity) = (try entity("Owner"), try entity("Member"))
    return try await context.perform {
      let owner = ManagedObject(entity: ownerEntity, insertInto: context)
      try context.save()
      for first in stride(from: 0, to: size, by: 50_000) {
        for number in first..<min(first + 50_000, size) {
          let member = ManagedObject(entity: memberEntity, insertInto: context)
          member.setValue(Int64(number), forKey: "number")
          owner.related(ManagedObject.self, slot: Self.membersSlot).insert(member)
        }
        try context.save()
      }
      return owner.objectID
    }
  }

  private func entity(_ name: String) throws -> EntityDescription {
    guard let found = container.managedObjectModel.entitiesByName[name] else {
      throw BenchmarkError("the model has no \(name)")
    }
    return found
  }
}

private func seconds(_ work: () throws -> Void) rethrows -> Double {
  let clock = ContinuousClock()
  let start = clock.now
  try work()
  return (clock.now - start).seconds
}
