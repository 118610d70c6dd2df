import Foundation
import Strata
import Testing

/// Loading relationships along with a fetch (rule 70).
struct PrefetchingTests {
  let store: TemporaryStore
  static let names = (1...40).map { "E\(100 + $0)" }

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    let context = store.context()
    for title in ["Sales", "Support", "Empty"] { context.make(Department.self, title) }
    for (index, name) in Self.names.enumerated() {
      let title = index % 3 == 0 ? "Sales" : "Support"
      context.make(Employee.self, name).department = try context.find(Department.self, title)
    }
    try context.save()
  }

  private func departments(_ keyPaths: String...) -> FetchRequest<Department> {
    var request = FetchRequest<Department>(entityName: "Department", sortDescriptors: [FetchSort("name")])
    request.relationshipKeyPathsForPrefetching = keyPaths
    return request
  }

  @Test("rule 70: members and their rows come with three requests and no fault is fired afterwards")
  func membersAreAtHand() throws {
    let context = store.context(.privateQueue)
    try context.performAndWait {
      let found = try context.fetch(departments("employees"))
      #expect(context.statistics.fetches == 3)
      var names: [String] = []
      for department in found {
        for employee in department.employees {
          #expect(employee.department === department)
          names += [employee.name ?? ""]
        }
      }
      #expect(names.sorted() == Self.names)
      #expect(context.statistics.fetches == 3)
      #expect(context.statistics.faultsFired == 0)
      #expect(context.statistics.relationshipFaultsFired == 0)
    }
  }

  @Test("without prefetching each member is a fault")
  func membersAreFaultsOtherwise() throws {
    let context = store.context(.privateQueue)
    try context.performAndWait {
      for department in try context.fetch(departments()) { _ = department.employees.names }
      #expect(context.statistics.faultsFired == Self.names.count)
      #expect(context.statistics.relationshipFaultsFired == 3)
    }
  }

  @Test("what was prefetched is held until the block ends, and no longer")
  func heldUntilTheEndOfTheBlock() async throws {
    let context = store.context(.privateQueue)
    let found = try context.performAndWait {
      let found = try context.fetch(departments("employees"))
      #expect(context.registeredObjects.count == 3 + Self.names.count)
      return found
    }
    context.performAndWait { #expect(context.registeredObjects.count == 3) }
    let request = departments("employees")
    let count = try await context.perform {
      _ = try context.fetch(request)
      return context.registeredObjects.count
    }
    #expect(count == 3 + Self.names.count)
    #expect(await context.perform { context.registeredObjects.count } == 3)
    withExtendedLifetime(found) {}
  }

  @Test("outside of blocks it is held until the next such fetch, or until reset")
  func heldUntilTheNextFetch() throws {
    let context = store.context()
    let found = try context.fetch(departments("employees"))
    #expect(context.registeredObjects.count == 3 + Self.names.count)
    _ = try context.fetch(departments("keys"))
    #expect(context.registeredObjects.count == 3)
    _ = try context.fetch(departments("employees"))
    context.reset()
    #expect(context.registeredObjects.isEmpty)
    withExtendedLifetime(found) {}
  }

  @Test("rule 70: key paths over several relationships; each object comes once")
  func keyPaths() throws {
    let context = store.context(.privateQueue)
    try context.performAndWait {
      var request = FetchRequest<Employee>(entityName: "Employee")
      request.relationshipKeyPathsForPrefetching = ["department.employees"]
      let found = try context.fetch(request)
      #expect(Set(found.compactMap { $0.department?.employees.count }) == [14, 26])
      #expect(context.statistics.faultsFired == 0)
      #expect(context.statistics.relationshipFaultsFired == 0)
      request.relationshipKeyPathsForPrefetching = ["department.nothing"]
      #expect(throws: FetchError.self) { try context.fetch(request) }
    }
  }
}
