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
  @Option(help: "How often each thing is done.") var runs = 51
  @Option(help: "Folder for the stores; it should lie on a disk, not in memory.")
  var directory = ".build/bench-stores"

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
    for size in sizes.map(\.rows) {
      for isManyToMany in [false, true] {
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let bench = try await OwnerBench(root, isManyToMany: isManyToMany)
        table.rows.append(try await bench.run(size, runs))
        try FileManager.default.removeItem(at: root)
      }
    }
    print("## strata-bench owner\n")
    print("Medians of \(runs); nothing is flushed: what is measured is work, not the disk.\n")
    print(table)
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

  func run(_ size: Int, _ runs: Int) async throws -> [String] {
    let id = try await fill(size)
    let context = container.newBackgroundContext()
    let isManyToMany = isManyToMany
    let memberEntity = try entity("Member")
    let row = try await context.perform {
      let owner = context.object(with: id)
      let view = { owner.related(ManagedObject.self, slot: Self.membersSlot) }
      var (appending, removing, counting, finding): ([Double], [Double], [Double], [Double]) = (
        [], [], [], []
      )
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
        appending.append(times[0])
        counting.append(times[1])
        finding.append(times[2])
        removing.append(times[3])
      }
      let loaded = context.registeredObjects.filter { !$0.isFault }.count
      return [
        "\(size)", isManyToMany ? "many-to-many" : "one-to-many", Self.micro(appending.median),
        Self.micro(removing.median), Self.micro(counting.median), Self.micro(finding.median),
        "\(max(loaded - runs - 2, 0))",
      ]
    }
    let deleting = container.newBackgroundContext()
    let before = ResidentSet.markPeak()
    let time = try await deleting.perform {
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
    return row + [
      String(format: "%.1f", time * 1_000), size < 10_000 ? "" : "\((after.peak - before.current) / size)",
    ]
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

  private static func micro(_ seconds: Double) -> String { String(format: "%.1f", seconds * 1e6) }
}

private func seconds(_ work: () throws -> Void) rethrows -> Double {
  let clock = ContinuousClock()
  let start = clock.now
  try work()
  return (clock.now - start).seconds
}
