import SwiftData
import Testing

@Suite("Fieldbook: screens") @MainActor
struct ScreenChecks {
  @Test("A list of sites shows, adds, searches and deletes")
  func list() throws {
    let preview = PreviewStore()
    let list = SiteListModel(preview.context)
    #expect(list.rows.map(\.title) == ["Beech Hill", "Harbour Wall", "Long Marsh", "Old Quarry"])
    #expect(list.rows.first?.detail == "Forest, 1 sighting")
    list.searchText = "wall"
    #expect(list.rows.map(\.title) == ["Harbour Wall"])
    list.searchText = ""
    list.habitat = .wetland
    #expect(list.rows.map(\.title) == ["Long Marsh"])
    list.habitat = nil
    list.add(named: "Mill", latitude: 50, longitude: 0)
    #expect(list.message == nil && list.rows.count == 5)
    list.add(named: "Mill", latitude: 50, longitude: 0)
    #expect(list.message == "There is already a site called Mill.")
    list.add(named: "", latitude: 0, longitude: 0)
    #expect(list.message == "A site needs a name.")
    list.delete(at: [0])
    #expect(list.rows.map(\.title) == ["Harbour Wall", "Long Marsh", "Mill", "Old Quarry"])
  }

  @Test("Previews have data of their own")
  func previews() throws {
    #expect(try PreviewStore(.empty).context.count(Site.self) == 0)
    #expect(try PreviewStore(.many(20)).context.count(Sighting.self) == 20)
    #expect(try PreviewStore().anySite().name == "Beech Hill")
    #expect(try PreviewStore(.empty).anySite().name == "Nowhere")
  }

  @Test("An editor undoes and redoes step by step; what is cancelled was never seen elsewhere")
  func editing() throws {
    let preview = PreviewStore()
    let shown = try #require(try preview.context.first(where: #Predicate<Sighting> { $0.count == 3 }))
    let editor = try SightingEditor(shown.persistentModelID, in: preview.container)
    let note = editor.sighting.note
    editor.setNote("changed")
    editor.setCount(10)
    #expect(editor.sighting.note == "changed" && editor.canUndo)
    editor.undo()
    #expect(editor.sighting.count == 3 && editor.sighting.note == "changed")
    editor.undo()
    #expect(editor.sighting.note == note && !editor.canUndo && editor.canRedo)
    editor.redo()
    editor.redo()
    #expect(editor.sighting.count == 10)
    #expect(shown.count == 3)
    editor.cancel()
    #expect(!editor.hasChanges && editor.sighting.count == 3)
  }

  @Test("What an editor saves is shown by the main context")
  func saving() throws {
    let preview = PreviewStore()
    let shown = try #require(try preview.context.first(where: #Predicate<Sighting> { $0.count == 3 }))
    let editor = try SightingEditor(shown.persistentModelID, in: preview.container)
    try editor.addTag("evening")
    editor.removeTag("spring")
    editor.addPhoto(Data([1, 2]), caption: "far away")
    try editor.save()
    _ = try preview.context.count(Sighting.self)
    #expect(shown.tags.map(\.name) == ["evening"] && shown.photos?.map(\.caption) == ["far away"])
  }

  @Test("A card is stale when something that it shows has changed, and only then")
  func cards() throws {
    let preview = PreviewStore()
    let sighting = try #require(try preview.context.first(where: #Predicate<Sighting> { $0.count == 3 }))
    let card = SightingCard(sighting)
    #expect(card.text == "3 × Red Kite: Red Kite at dawn")
    sighting.isVerified = true
    #expect(!card.isStale)
    sighting.count = 4
    #expect(card.isStale)
    card.renderIfNeeded()
    #expect(card.text.hasPrefix("4 × ") && card.renderings == 2)
    preview.context.rollback()
    #expect(card.isStale)
  }

  @Test("Saves are counted by their notifications")
  func counting() throws {
    let preview = PreviewStore()
    let counter = SaveCounter(preview.context)
    let sighting = try #require(try preview.context.all(Sighting.self).first)
    sighting.note = "changed"
    preview.context.insert(Tag(name: "new"))
    try preview.context.save()
    preview.context.delete(sighting)
    try preview.context.save()
    #expect(counter.inserted == 1 && counter.deleted == 1 && counter.updated >= 1)
  }
}
