"""Namespaces, file systems and their files, secrets, images, deploys."""

import io
import pathlib
import unittest

from tests.fake_daemon import LOST, DaemonTest, Reply, problem

import maitento

VFS = {"name": "data", "namespace": "lab", "createdAt": "2026-10-01T08:30:00Z"}
ENTRY = {"name": "a.csv", "type": "file", "size": 3, "mode": "0664", "modifiedAt": "2026-10-01T08:30:00Z"}


class CatalogueTest(DaemonTest):
    def test_finds_what_is_there_and_nothing_else(self):
        self.answer = lambda request: {
            "/v1/namespaces": Reply(body={"items": [{"name": "lab", "createdAt": "", "image": "full"}]}),
            "/v1/namespaces/lab/vfs/data": Reply(body=VFS)}.get(request.target, problem(404, "not-found"))
        self.assertEqual(self.mt.namespaces.find("lab").image, "full")
        self.assertIsNone(self.mt.namespaces.find("other"))
        self.assertEqual(self.mt.vfs.find_by_name("data").created_at.year, 2026)
        self.assertIsNone(self.mt.vfs.find_by_name("none"))

    def test_sends_what_the_api_wants(self):
        self.answer = lambda request: Reply(body={"name": "full", "version": "full-1", "items": []})
        self.mt.namespaces.create("lab")
        self.mt.namespaces.set_image("lab", "full")
        self.mt.secrets.set("token", "ä")
        self.mt.images.get("full")
        self.mt.images.delete("full-1")
        self.mt.namespaces.clear_image("lab")
        self.assertEqual(self.lines, ["POST /v1/namespaces", "PUT /v1/namespaces/lab/image",
                                      "PUT /v1/namespaces/lab/secrets/token", "GET /v1/images/full",
                                      "DELETE /v1/images/full-1", "DELETE /v1/namespaces/lab/image"])
        self.assertEqual([self.requests[0].document, self.requests[1].document], [{"name": "lab"}, {"image": "full"}])
        self.assertEqual(self.requests[2].body, "ä".encode())

    def test_lists(self):
        self.answer = lambda request: Reply(body={"items": [VFS]})
        for things in (self.mt.namespaces, self.mt.vfs, self.mt.secrets, self.mt.capsules):
            self.assertEqual([thing.name for thing in things.list()], ["data"])
        self.answer = lambda request: Reply(body={"items": {}})
        with self.assertRaises(maitento.InvalidAnswerError):
            self.mt.vfs.list()


class FilesTest(DaemonTest):
    def setUp(self):
        super().setUp()
        self.files = self.mt.vfs.open("data")

    def test_are_written_and_written_again_after_a_lost_connection(self):
        self.script(LOST, Reply(204), Reply(201))
        self.files.write_text("/a b/ü?.txt", "zeile\n")
        self.files.write_bytes("c", b"")
        self.assertEqual(self.lines, 2 * ["PUT /v1/namespaces/lab/vfs/data/files/a%20b/%C3%BC%3F.txt"]
                         + ["PUT /v1/namespaces/lab/vfs/data/files/c"])
        self.assertEqual([request.body for request in self.requests], [b"zeile\n", b"zeile\n", b""])

    def test_are_streamed_in_pieces(self):
        data = bytes(range(256)) * 1000
        (self.folder / "large").write_bytes(data)
        self.answer = lambda request: Reply(201)
        self.files.write_file("/large", self.folder / "large")
        self.files.write_file("/large", io.BytesIO(data))
        self.assertEqual([request.body == data for request in self.requests], [True, True])
        self.assertEqual({request.headers.get("transfer-encoding") for request in self.requests}, {"chunked"})

    def test_that_cannot_be_read_here_come_through(self):
        class Broken(io.BytesIO):
            def read(self, size=-1):
                raise BrokenPipeError("the caller's own")

        self.answer = lambda request: Reply(201)
        with self.assertRaisesRegex(BrokenPipeError, "own"):
            self.files.write_file("/x", Broken())
        with self.assertRaises(FileNotFoundError):
            self.files.write_file("/x", self.folder / "absent")

    def test_are_read(self):
        content = Reply(body=[b"eins", b"zwei"], content_type="application/octet-stream")
        self.answer = lambda request: content
        self.assertEqual(self.files.read_text("/x"), "einszwei")
        self.assertEqual(self.files.read_bytes("/x", limit=8), b"einszwei")
        with self.assertRaises(maitento.MaitentoError) as caught:
            self.files.read_bytes("/x", limit=7)
        self.assertEqual(caught.exception.kind, "too-large")
        target = io.BytesIO()
        self.assertEqual((self.files.read_file("/x", target), target.getvalue()), (8, b"einszwei"))
        content.body = b"\xff"
        with self.assertRaises(UnicodeDecodeError):
            self.files.read_text("/x")

    def test_that_break_off_are_never_taken_for_whole(self):
        self.script(Reply(body=b"half", content_type="application/octet-stream", cut=True))
        with self.assertRaises(maitento.MaitentoConnectionError):
            self.files.read_file("/x", io.BytesIO())

    def test_are_listed_with_names_of_any_bytes(self):
        odd = {**ENTRY, "name": "\ufffd", "nameBase64": "/3g="}
        self.answer = lambda request: Reply(
            body={"entries": [ENTRY, odd]} if request.target.endswith("files/") else odd)
        first, second = self.files.list()
        self.assertEqual((first.name, first.size, first.mode), ("a.csv", 3, "0664"))
        self.files.stat("/" + second.name)
        self.assertEqual(self.requests[1].target, "/v1/namespaces/lab/vfs/data/files/%FFx?stat=true")

    def test_and_folders_are_told_apart(self):
        self.answer = lambda request: Reply(body={"entries": []})
        with self.assertRaises(maitento.ConflictError) as caught:
            self.files.read_bytes("/folder")
        self.assertEqual(caught.exception.kind, "is-a-folder")
        self.answer = lambda request: Reply(body=b'{"entries":[]}', content_type="application/octet-stream")
        with self.assertRaises(maitento.ConflictError) as caught:
            self.files.list("/file")
        self.assertEqual(caught.exception.kind, "not-a-folder")

    def test_are_moved_and_deleted(self):
        self.answer = lambda request: Reply(204)
        self.files.make_folder("/a/b")
        self.files.move("/a", "/c")
        self.files.delete("/c", recursive=True)
        self.files.delete("/d")
        self.assertEqual([line.rpartition("/files")[2] for line in self.lines],
                         ["/a/b", "/a", "/c?recursive=true", "/d"])
        self.assertEqual([request.document for request in self.requests[:2]],
                         [{"operation": "makeFolder"}, {"operation": "move", "to": "/c"}])


class DeployTest(DaemonTest):
    def write(self, **files):
        for name, content in files.items():
            path = pathlib.Path(self.folder, "app", name.replace("__", "/").replace("_", "."))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return self.folder / "app"

    def test_sends_definitions_and_nothing_else(self):
        folder = self.write(capsules__b_mtr=b"// b\n", capsules__a_mtr=b"", apps__x_mtc=b"\xff not read",
                            data__sales_csv=b"", _hidden__c_mtr=b"")
        self.script(Reply(body={"created": ["a", "b"], "updated": [], "unchanged": [], "skipped": ["apps/x.mtc"]}))
        report = self.mt.deploy(folder)
        self.assertEqual((report.created, report.skipped), (("a", "b"), ("apps/x.mtc",)))
        self.assertEqual(self.lines, ["POST /v1/namespaces/lab/deploy"])
        self.assertEqual(self.requests[0].document["files"], [
            {"path": "apps/x.mtc", "content": ""}, {"path": "capsules/a.mtr", "content": ""},
            {"path": "capsules/b.mtr", "content": "// b\n"}])

    def test_says_where_text_is_not_utf8(self):
        folder = self.write(capsules__a_mtr=b"ok\n  \xff\n")
        with self.assertRaises(maitento.DefinitionInvalidError) as caught:
            self.mt.deploy(folder)
        self.assertEqual([str(error) for error in caught.exception.errors],
                         ["capsules/a.mtr:2:3: the text is not UTF-8"])
        self.assertEqual(self.requests, [])

    def test_of_a_folder_without_capsules_is_refused(self):
        for folder, why in ((self.write(x_mtr=b""), "no capsules"), (self.folder / "absent", "not a folder")):
            with self.assertRaisesRegex(ValueError, why):
                self.mt.deploy(folder)


if __name__ == "__main__":
    unittest.main()
