import CoreData
import Foundation
import Testing

@Suite("Fetch request templates of models that are read")
struct ModelTemplateTests {
  private func write() throws -> URL {
    let url = try Journal.makeFolder().appendingPathComponent("Birds.xcdatamodel")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let text = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Bird">
          <attribute name="tally" optional="YES" attributeType="Integer 64"/>
        </entity>
        <fetchRequest name="manyOf" entity="Bird" predicateString="tally &gt; $TALLY"/>
      </model>
      """
    try Data(text.utf8).write(to: url.appendingPathComponent("contents"))
    return url
  }

  private func check(_ model: NSManagedObjectModel?) {
    let request = model?.fetchRequestFromTemplate(
      withName: "manyOf", substitutionVariables: ["TALLY": 3 as NSNumber])
    #expect(request?.entityName == "Bird" && request?.predicate != nil)
    #expect(model?.fetchRequestTemplatesByName.keys.sorted() == ["manyOf"])
  }

  @Test("A model read from a file has its templates, as do models merged and copied from it")
  func read() throws {
    let url = try write()
    let model = try #require(NSManagedObjectModel(contentsOf: url))
    check(model)
    check(NSManagedObjectModel(byMerging: [model]))
    check(model.copy() as? NSManagedObjectModel)
  }
}
