import SwiftData
import Testing

/// A folder that goes with the test.
final class Folder {
  let url: URL
  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(at: url) }
  func file(_ name: String) -> URL { url.appendingPathComponent(name) }
}

/// How code of before calls what is deprecated, without a warning here.
private protocol DeprecatedErasing { func eraseAsBefore() }
extension ModelContainer: DeprecatedErasing {
  @available(*, deprecated)
  fileprivate func eraseAsBefore() { deleteAllData() }
}

@Suite("ModelContainer and ModelConfiguration")
struct ContainerRows {
  @Test("init(for: Schema…), init(for: types…), with a list, with several, with none of the defaults")
  func initializers() throws {
    let schema = Schema([Trip.self])
    let memory = ModelConfiguration(isStoredInMemoryOnly: true)
    let one = try ModelContainer(for: schema, configurations: [memory])
    let two = try ModelContainer(for: schema, migrationPlan: nil, configurations: memory)
    let three = try ModelContainer(for: Trip.self, Vehicle.self, configurations: memory)
    let four = try ModelContainer(for: Trip.self, migrationPlan: Plan.self, configurations: memory)
    #expect(one != two && one == one)
    #expect(three.schema.entitiesByName.keys.sorted() == ["Guide", "Stay", "Trip", "Vehicle"])
    #expect(one.migrationPlan == nil && four.migrationPlan != nil)
    #expect(one.configurations.count == 1)
  }

  @Test("@MainActor var mainContext") @MainActor
  func mainContext() throws {
    let container = try makeContainer()
    #expect(container.mainContext === container.mainContext && container.mainContext.autosaveEnabled)
  }

  @Test("func deleteAllData(), func erase()")
  func erasing() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.insert(Trip(name: "a"))
    try context.save()
    try container.erase()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Trip>()) == 0)
    context.insert(Trip(name: "b"))
    try context.save()
    (container as any DeprecatedErasing).eraseAsBefore()
    #expect(try ModelContext(container).fetchCount(FetchDescriptor<Trip>()) == 0)
  }

  @Test("struct ModelConfiguration: initialisers, url, name, flags, Identifiable, Hashable, Sendable")
  func configuration() throws {
    let folder = try Folder()
    let plain = ModelConfiguration(
      "Trips", schema: Schema([Trip.self]), url: folder.file("a.store"), allowsSave: false)
    #expect(plain.name == "Trips" && plain.url == folder.file("a.store") && !plain.allowsSave)
    #expect(plain.schema?.entitiesByName["Trip"] != nil && !plain.isStoredInMemoryOnly)
    #expect(plain.id == plain.url)
    #expect(plain.debugDescription.contains("Trips"))
    let memory = ModelConfiguration(isStoredInMemoryOnly: true)
    #expect(memory.isStoredInMemoryOnly && memory.url.path == "/dev/null")
    let typed = ModelConfiguration(for: Trip.self, Stay.self, isStoredInMemoryOnly: true)
    #expect(typed.schema?.entities.isEmpty == false)
    let named = ModelConfiguration(
      "Other", schema: nil, isStoredInMemoryOnly: false, allowsSave: true, groupContainer: .none,
      cloudKitDatabase: .none)
    #expect(named.url.lastPathComponent == "Other.store")
    #expect(Set([plain, memory]).count == 2)
    func isSendable<S: Sendable>(_: S) -> Bool { true }
    #expect(isSendable(plain))
  }

  @Test("CloudKitDatabase and GroupContainer")
  func inert() {
    let databases: [ModelConfiguration.CloudKitDatabase] = [.automatic, .none, .private("a")]
    let groups: [ModelConfiguration.GroupContainer] = [.automatic, .none, .identifier("group.a")]
    #expect(databases.count == 3 && groups.count == 3)
    let one = ModelConfiguration(
      "a", isStoredInMemoryOnly: true, groupContainer: .identifier("group.a"), cloudKitDatabase: .none)
    #expect(one.groupAppContainerIdentifier == "group.a" && one.cloudKitContainerIdentifier == nil)
  }
}
