import CoreData
import Foundation
import Testing

// One after the other: they write beside the program, where all of them look.
@Suite("Models found by name and in bundles", .serialized)
struct ModelLookupTests {
  let folder: URL

  init() throws { folder = try Journal.makeFolder() }

  /// Writes a model with one entity, as Xcode's editor does.
  private func write(_ name: String, entity: String, attribute: String = "name", in folder: URL) throws -> URL
  {
    let url = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let text = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="\(entity)" syncable="YES">
          <attribute name="\(attribute)" optional="YES" attributeType="String"/>
        </entity>
      </model>
      """
    try Data(text.utf8).write(to: url.appendingPathComponent("contents"))
    return url
  }

  /// A folder that counts as a bundle.
  private func bundle(_ name: String) throws -> (Bundle, URL) {
    let url = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return (try #require(Bundle(url: url)), url)
  }

  @Test("A container finds its model by name beside the program; a resource bundle's too")
  func byName() throws {
    let word = "Model" + UUID().uuidString.prefix(8)
    // Models are looked up in the folder of the program. The name is unique.
    let here = try write("\(word).xcdatamodel", entity: "Bird", in: Bundle.main.bundleURL)
    defer { try? FileManager.default.removeItem(at: here) }
    #expect(NSPersistentContainer(name: word).managedObjectModel.entities.map(\.name) == ["Bird"])

    let resources = Bundle.main.bundleURL.appendingPathComponent("\(word).resources")
    _ = try write("\(word)2.xcdatamodeld/\(word)2.xcdatamodel", entity: "Site", in: resources)
    defer { try? FileManager.default.removeItem(at: resources) }
    #expect(NSPersistentContainer(name: word + "2").managedObjectModel.entities.map(\.name) == ["Site"])
    // Without bundles, these are looked at as well.
    let all = try #require(NSManagedObjectModel.mergedModel(from: nil))
    #expect(Set(all.entities.map(\.name)).isSuperset(of: ["Bird", "Site"]))
    #expect(NSManagedObjectModel(byMerging: nil)?.entitiesByName["Bird"] != nil)
  }

  @Test("Without bundles, the last resource bundle counts as well when the program runs in its own folder")
  func fromItsOwnFolder() async {
    await #expect(processExitsWith: .success) {
      let here = Bundle.main.bundleURL
      let word = "zz" + UUID().uuidString.prefix(8)
      let resources = here.appendingPathComponent("\(word).resources")
      let model = resources.appendingPathComponent("A.xcdatamodel")
      try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: resources) }
      try Data(
        "<model type=\"com.apple.IDECoreDataModeler.DataModel\"><entity name=\"\(word)\"/></model>".utf8
      )
      .write(to: model.appendingPathComponent("contents"))
      try #require(FileManager.default.changeCurrentDirectoryPath(here.path))
      let merged = try #require(NSManagedObjectModel.mergedModel(from: nil))
      try #require(merged.entitiesByName[word] != nil)
    }
  }

  @Test("A container without a model stops the process and names the places it looked at")
  func byWrongName() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = NSPersistentContainer(name: "NobodyHasThisModel")
    }
    let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(words.contains("NobodyHasThisModel.xcdatamodeld") && words.contains(Bundle.main.bundleURL.path))
  }

  @Test(
    "rule 319: mergedModel(from:) takes the models of all bundles given; nil for none, and for entities that contradict each other"
  )
  func inBundles() throws {
    let (one, first) = try bundle("One.bundle")
    let (two, second) = try bundle("Two.bundle")
    let (none, _) = try bundle("None.bundle")
    _ = try write("A.xcdatamodel", entity: "Bird", in: first)
    _ = try write("B.xcdatamodeld/B.xcdatamodel", entity: "Site", in: second)
    let model = try #require(NSManagedObjectModel.mergedModel(from: [one, two, none]))
    #expect(Set(model.entities.compactMap(\.name)) == ["Bird", "Site"])
    #expect(NSManagedObjectModel.mergedModel(from: [one])?.entities.map(\.name) == ["Bird"])
    #expect(NSManagedObjectModel.mergedModel(from: [none]) == nil)
    #expect(NSManagedObjectModel.mergedModel(from: []) == nil)
    _ = try write("C.xcdatamodel", entity: "Bird", attribute: "weight", in: second)
    #expect(NSManagedObjectModel.mergedModel(from: [one, two]) == nil)
  }

  @Test("mergedModel(from:forStoreMetadata:) finds the version that a store was written with")
  func forMetadata() throws {
    let (bundle, place) = try bundle("Versions.bundle")
    let old = try write("Birds.xcdatamodeld/Birds.xcdatamodel", entity: "Bird", in: place)
    _ = try write("Birds.xcdatamodeld/Birds 2.xcdatamodel", entity: "Bird", attribute: "fullName", in: place)
    let model = try #require(NSManagedObjectModel(contentsOf: old))
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("Birds.sqlite"))
    let found = try #require(
      NSManagedObjectModel.mergedModel(from: [bundle], forStoreMetadata: coordinator.metadata(for: store)))
    #expect(found.entitiesByName["Bird"]?.attributesByName.keys.sorted() == ["name"])
    #expect(
      NSManagedObjectModel.mergedModel(from: [bundle])?.entitiesByName["Bird"]?.attributesByName["fullName"]
        != nil)
  }

  @Test("Why a model that is there cannot be read is told; of one that is not, nothing")
  func reasons() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let folder = try Journal.makeFolder().appendingPathComponent("Odd.bundle")
      let model = folder.appendingPathComponent("Odd.xcdatamodel")
      try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
      let text = #"<model><entity name="A"><attribute name="x" attributeType="Odd"/></entity></model>"#
      try Data(text.utf8).write(to: model.appendingPathComponent("contents"))
      #expect(NSManagedObjectModel(contentsOf: folder.appendingPathComponent("None.momd")) == nil)
      #expect(NSManagedObjectModel(contentsOf: folder.appendingPathComponent("Odd.mom")) == nil)
      let bundle = try #require(Bundle(url: folder))
      #expect(NSManagedObjectModel.mergedModel(from: [bundle]) == nil)
      let metadata: [String: Any] = [NSStoreModelVersionHashesKey: ["B": Data([1])]]
      _ = NSManagedObjectModel.mergedModel(from: [bundle], forStoreMetadata: metadata)
    }
    let told = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    for caller in ["init(contentsOf:)", "mergedModel(from:)", "mergedModel(from:forStoreMetadata:)"] {
      #expect(told.contains("NSManagedObjectModel.\(caller): "), "\(told)")
    }
    #expect(told.contains(#"A.x has attributeType="Odd""#) && !told.contains("None.momd"), "\(told)")
  }
}
