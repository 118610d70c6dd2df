import Foundation
import Strata
import Testing
import TortureKit

@testable import StrataCommand

/// A model in all its forms.
@Suite struct ModelFormTests {
  private func everything() throws -> (ScratchFolder, String) {
    let folder = try ScratchFolder()
    let path = folder("A.strata")
    try Everything.fill(path, seed: 3, count: 5)
    return (folder, path)
  }

  @Test func theTextNamesEverything() throws {
    let (folder, path) = try everything()
    defer { withExtendedLifetime(folder) {} }
    let text = Tool.run("schema", path)
    #expect(text.code == 0, "\(text)")
    for words in [
      "Special: Thing", "to many, ordered, Group, inverse steps", "unique name", "index byText: text, int64",
      ".city name  string", "derived from uppercase:(text)", "kind       string, default plain, required",
    ] {
      #expect(text.output.contains(words), "\(words) in \(text)")
    }
    let one = Tool.run("schema", path, "--entity", "Group")
    #expect(one.output.hasPrefix("Group\n") && !one.output.contains("Special"), "\(one)")
    #expect(Tool.run("schema", path, "--entity", "Grup").code == 64)
    #expect(Tool.run("schema", path, "--json", "--swift").code == 64)
  }

  @Test func xcodesFolderIsTheSameModel() throws {
    let (folder, path) = try everything()
    let target = folder("Model.xcdatamodeld")
    let written = Tool.run("schema", path, "--xcdatamodeld", target)
    #expect(written.code == 0, "\(written)")
    let read = try ManagedObjectModel(contentsOf: URL(fileURLWithPath: target))
    #expect(read.entityVersionHashesByName == Everything.model().entityVersionHashesByName)
    #expect(Tool.run("diff", path, target).output.contains("is of this version"))
    #expect(read.entitiesByName["Thing"]?.indexes.first?.elements.map(\.propertyName) == ["text", "int64"])
    #expect(read.entitiesByName["Thing"]?.attributesByName["kind"]?.defaultValue as? String == "plain")
    let again = Tool.run("schema", path, "--xcdatamodeld", target)
    #expect(again.code == 10, "\(again)")
    #expect(Tool.run("schema", path, "--xcdatamodeld", folder("Model")).code == 64)
  }

  @Test func xcodesFolderHasRequestsAndUserInfo() throws {
    let folder = try ScratchFolder()
    defer { withExtendedLifetime(folder) {} }
    let source = folder("Birds.xcdatamodel")
    try FileManager.default.createDirectory(atPath: source, withIntermediateDirectories: false)
    let text = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Bird">
          <attribute name="tally" optional="YES" attributeType="Integer 64"/>
          <relationship name="site" optional="YES" maxCount="1" deletionRule="Nullify"
              destinationEntity="Site" inverseName="birds" inverseEntity="Site">
            <userInfo><entry key="sentence" value="where &quot;it&quot; is"/></userInfo>
          </relationship>
        </entity>
        <entity name="Site">
          <relationship name="birds" optional="YES" toMany="YES" deletionRule="Nullify"
              destinationEntity="Bird" inverseName="site" inverseEntity="Bird"/>
          <fetchedProperty name="many" optional="YES">
            <fetchRequest name="fetchedPropertyFetchRequest" entity="Bird"
                predicateString="site == $FETCH_SOURCE AND tally &gt; 3"/>
            <userInfo><entry key="a" value="b"/></userInfo>
          </fetchedProperty>
        </entity>
        <fetchRequest name="manyOf" entity="Bird" predicateString="tally &gt; $TALLY" fetchLimit="5"
            fetchBatchSize="20" includeSubentities="NO" returnObjectsAsFaults="NO"/>
      </model>
      """
    try Data(text.utf8).write(to: folder.url("Birds.xcdatamodel/contents"))
    let target = folder("Model.xcdatamodeld")
    let written = Tool.run("schema", source, "--xcdatamodeld", target)
    #expect(written.code == 0, "\(written)")
    let models = try [source, target].map { try ManagedObjectModel(contentsOf: URL(fileURLWithPath: $0)) }
    #expect(models[0].entityVersionHashesByName == models[1].entityVersionHashesByName)
    let condition = try FetchPredicate(format: "site == $FETCH_SOURCE AND tally > 3")
    let template = try FetchPredicate(format: "tally > $TALLY")
    for model in models {
      let site = try #require(model.entitiesByName["Bird"]?.relationshipsByName["site"])
      #expect(site.userInfo?["sentence"] as? String == "where \"it\" is")
      let many = model.entitiesByName["Site"]?.propertiesByName["many"] as? FetchedPropertyDescription
      #expect(many?.fetchRequest?.predicate == condition)
      #expect(many?.fetchRequest?.entityName == "Bird" && many?.userInfo?["a"] as? String == "b")
      let request = try #require(model.fetchRequestTemplatesByName["manyOf"])
      #expect(request.predicate == template)
      #expect(request.fetchLimit == 5 && request.fetchBatchSize == 20)
      #expect(!request.includesSubentities && !request.returnsObjectsAsFaults)
      #expect(request.includesPendingChanges && request.includesPropertyValues)
    }
  }

  @Test func xcodesFolderHasTheFirstVersionIdentifier() throws {
    let folder = try ScratchFolder()
    defer { withExtendedLifetime(folder) {} }
    let model = Everything.model()
    model.versionIdentifiers = ["2", "1", "3"]
    try model.encodedForStores().write(to: folder.url("model.json"))
    let target = folder("Model.xcdatamodeld")
    let written = Tool.run("schema", folder("model.json"), "--xcdatamodeld", target)
    #expect(written.code == 0 && written.error.contains("“2”, “3”"), "\(written)")
    let read = try ManagedObjectModel(contentsOf: URL(fileURLWithPath: target))
    #expect(read.versionIdentifiers == ["1"])
  }

  @Test func whatXcodesFolderHasNoPlaceForIsRefused() throws {
    let folder = try ScratchFolder()
    defer { withExtendedLifetime(folder) {} }
    let rules: [[ValidationRule]] = [
      [.pattern("a.*"), .pattern(".*b")], [.minimumLength(1), .minimumLength(2)],
      [.maximumLength(9, warning: "Shorter, please.")],
    ]
    for rules in rules {
      let model = Everything.model()
      let text = try #require(model.entitiesByName["Thing"]?.attributesByName["text"])
      text.validationRules = rules
      try model.encodedForStores().write(to: folder.url("model.json"))
      let said = Tool.run("schema", folder("model.json"), "--xcdatamodeld", folder("Model.xcdatamodeld"))
      #expect(said.code == 9, "\(said)")
      #expect(!FileManager.default.fileExists(atPath: folder("Model.xcdatamodeld")))
    }
    let model = Everything.model()
    model.entitiesByName["Thing"]?.attributesByName["text"]?.defaultValue = "a\u{1}b"
    try model.encodedForStores().write(to: folder.url("model.json"))
    let said = Tool.run("schema", folder("model.json"), "--xcdatamodeld", folder("Model.xcdatamodeld"))
    #expect(said.code == 9, "\(said)")
  }

  @Test func spatialIndexesKeepTheirKind() throws {
    let folder = try ScratchFolder()
    let model = Everything.model()
    model.entitiesByName["Thing"]?.indexes.append(
      FetchIndexDescription(
        name: "inSpace",
        elements: ["int64", "double"].map {
          FetchIndexElementDescription(propertyName: $0, collationType: .rTree)
        }))
    try model.encodedForStores().write(to: folder.url("model.json"))
    #expect(
      Tool.run("schema", folder("model.json")).output.contains("spatial index inSpace: int64, double\n"))
    let target = folder("Model.xcdatamodeld")
    #expect(Tool.run("schema", folder("model.json"), "--xcdatamodeld", target).code == 0)
    let read = try ManagedObjectModel(contentsOf: URL(fileURLWithPath: target))
    let indexes = try #require(read.entitiesByName["Thing"]?.indexes)
    #expect(indexes.map { $0.elements.map(\.propertyName) } == [["text", "int64"], ["int64", "double"]])
    #expect(indexes.last?.elements.map(\.collationType) == [.rTree, .rTree])
  }

  @Test func jsonIsReadBack() throws {
    let (folder, path) = try everything()
    let json = Tool.run("schema", path, "--json")
    #expect(json.code == 0)
    try Data(json.output.utf8).write(to: folder.url("model.json"))
    #expect(Tool.run("diff", path, folder("model.json")).output.contains("is of this version"))
    #expect(Tool.run("schema", folder("model.json"), "--json").output == json.output)
  }

  @Test func thePictureHasEveryEntityAndIsXML() throws {
    let (folder, path) = try everything()
    defer { withExtendedLifetime(folder) {} }
    let svg = Tool.run("schema", path, "--diagram")
    #expect(svg.code == 0)
    for name in ["Thing", "Special", "Group", "friends", "group / things", "prefers-color-scheme: dark"] {
      #expect(svg.output.contains(name), "\(name)")
    }
    #expect(svg.output.components(separatedBy: "<g>").count == 4)
    #expect(svg.output.hasPrefix("<svg ") && svg.output.hasSuffix("</svg>\n"))
  }
}

/// The classes that the command writes: they are part of this target, so they compile.
@Suite struct GeneratedClassesTests {
  private static let head =
    "// swift-format-ignore-file\n// What `strata schema --swift` writes for the model in Everything.swift. STRATA_RECORD=1 writes it anew.\n"
  private let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Support/GeneratedClasses.swift")

  @Test func theFileIsWhatTheCommandWrites() throws {
    let folder = try ScratchFolder()
    try Everything.model().encodedForStores().write(to: folder.url("model.json"))
    let said = Tool.run("schema", folder("model.json"), "--swift")
    #expect(said.code == 0, "\(said)")
    if ProcessInfo.processInfo.environment["STRATA_RECORD"] != nil {
      try Data((Self.head + said.output).utf8).write(to: file)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == Self.head + said.output)
  }

  @Test func theClassesReadWhatIsStored() throws {
    let folder = try ScratchFolder()
    try Everything.fill(folder("A.strata"), seed: 11, count: 30)
    let model = Everything.model()
    for (name, type) in modelClasses { model.entitiesByName[name]?.managedObjectClass = type }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: folder.url("A.strata")))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      let things = try context.fetch(FetchRequest<Thing>(entityName: "Thing"))
      #expect(things.count > 10 && things.contains { $0 is Special })
      for thing in things {
        #expect(thing.text == thing.value(forKey: "text") as? String)
        #expect(thing.group === thing.value(forKey: "group") as? ManagedObject)
        #expect(thing.tags == thing.value(forKey: "tags") as? Set<Group>)
        thing.kind = "typed"
      }
      try context.save()
    }
    try coordinator.remove(store)
    #expect(Tool.run("count", folder("A.strata"), "Thing", "--where", "kind != 'typed'").output == "0\n")
  }
}
